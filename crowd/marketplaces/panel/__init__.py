"""Any panel that sends people with an id in the address and takes them back at an address of its own."""
