"""The address that colleagues open: this machine's own, and the one that the server wrote down."""

import ipaddress

from seedvote.crowd.watching import address
from seedvote.crowd.watching.address import THIS_MACHINE, keep_address, kept_address, own_address


def test_it_is_an_address_that_others_can_open_or_this_machine():
    found = ipaddress.ip_address(own_address())
    assert not found.is_unspecified and not found.is_multicast


def test_without_a_network_it_is_this_machine(monkeypatch):
    class Unreachable:
        def __init__(self, *words):
            pass

        def __enter__(self):
            return self

        def __exit__(self, *words):
            return None

        def connect(self, place):
            raise OSError("network is unreachable")

    monkeypatch.setattr(address.socket, "socket", Unreachable)
    assert own_address() == THIS_MACHINE


def test_what_was_written_down_is_read_again(tmp_path):
    assert kept_address(tmp_path) == ""
    keep_address(tmp_path, "http://192.0.2.7:8765/")
    assert kept_address(tmp_path) == "http://192.0.2.7:8765/"
