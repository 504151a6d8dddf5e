"""Tables and figures of [Glasmachers2008, chapter 8]: LASVM."""
