"""Tables and figures of [Glasmachers2008], but those of LASVM."""
