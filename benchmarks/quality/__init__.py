"""How good models are: tables of accuracies, each with a bar that it must not miss."""
