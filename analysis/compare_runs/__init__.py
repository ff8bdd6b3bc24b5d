"""Which of several evaluated systems scores higher, item by item, from the logs of their evaluations."""
