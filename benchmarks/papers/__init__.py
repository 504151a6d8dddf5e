"""Tables of the papers that widemargin implements, one module per table."""
