"""What goes over HTTP: the raters' pages, the researcher's page, and the server under both."""
