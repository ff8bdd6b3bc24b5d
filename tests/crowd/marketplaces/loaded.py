"""What a process of `killing.py` has loaded before it is forked: every command with its libraries, read once.

It is imported by the process that is forked from, never by the tests' own. An interpreter of its own for each command
would spend two thirds of its time on imports, certificates and the addresses of AWS, which no kill can touch.
"""

import functools
import gc
import importlib
import pkgutil

import boto3
import httpx
import httpx._transports.default as transports
from botocore.loaders import JSONFileLoader

from seedvote.crowd import commands, marketplaces
from seedvote.crowd.marketplaces import mturk, prolific

for _room in (commands, marketplaces, mturk, prolific):
    for _found in pkgutil.iter_modules(_room.__path__, f"{_room.__name__}."):
        importlib.import_module(_found.name)

_read = JSONFileLoader.load_file
_kept = functools.cache(lambda path: _read(JSONFileLoader(), path))
JSONFileLoader.load_file = lambda _self, path: _kept(path)
transports.create_ssl_context = functools.cache(transports.create_ssl_context)
httpx.Client().close()
# The session stays, with the service model in it; the keys do not.
boto3.client("mturk", "us-east-1", aws_access_key_id="none", aws_secret_access_key="none").close()
gc.freeze()
