"""Tables and figures of [Lebrun2006]: small models by tabu search."""
