"""Tables and figures of [Timm2009]: paths through grids of one-class models."""
