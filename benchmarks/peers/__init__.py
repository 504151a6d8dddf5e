"""widemargin and its peers on the same problems, in alternation, each judged by the same certificate."""
