"""The way to Mechanical Turk: the client, and what its answers mean for money.

Whatever fails ends as NotDone or Unsure, in one sentence without ids and keys.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Iterator, Mapping
from typing import Any

import boto3
from botocore.config import Config
from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    ConnectTimeoutError,
    EndpointConnectionError,
    NoCredentialsError,
    PartialCredentialsError,
    ProfileNotFound,
)

from seedvote.crowd.marketplaces.launch import check_endpoint
from seedvote.crowd.marketplaces.ledger import NotDone, Unsure
from seedvote.crowd.marketplaces.mturk.entrance import MTURK_ENDPOINT

REGION = "us-east-1"  # the only one there is
SANDBOX = f"https://mturk-requester-sandbox.{REGION}.amazonaws.com"
Client = Any  # botocore builds the class when it reads the service model


class FalseSuccess(BotoCoreError):
    """An error that comes as a success."""

    fmt = "the answer says done and is none"


def connect_to_mturk(*, sandbox: bool) -> Client:
    """A client for the sandbox or the real place; AWS_ENDPOINT_URL_MTURK may name this machine instead."""
    check_endpoint(MTURK_ENDPOINT, "Amazon", "amazonaws.com")
    options: dict[str, Any] = {"region_name": REGION, "config": Config(retries={"mode": "standard", "max_attempts": 6})}
    if sandbox and not os.environ.get(MTURK_ENDPOINT):
        options["endpoint_url"] = SANDBOX
    with explained():
        client = boto3.client("mturk", **options)
    client.meta.events.register("before-parse.mturk", _refuse_false_success)
    return client


def _refuse_false_success(response_dict: Mapping[str, Any], **_: Any) -> None:
    """An error, or a page of some proxy, that comes as a success: botocore would take it for one."""
    body = response_dict["body"].strip()
    if response_dict["status_code"] >= 300 or not body:
        return
    try:
        answer = json.loads(body)
    except ValueError:
        answer = None
    if not isinstance(answer, dict) or {"__type", "TurkErrorCode"} & set(answer):
        raise FalseSuccess


@contextlib.contextmanager
def explained() -> Iterator[None]:
    """Turn an error of MTurk into one sentence that repeats nothing of the request: no id, no key.

    NotDone: it was not done. Unsure: nobody here knows.
    """
    try:
        yield
    except (NoCredentialsError, PartialCredentialsError) as error:
        raise NotDone(
            "no AWS credentials were found. Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE. "
            "Nothing was created or spent."
        ) from error
    except ProfileNotFound as error:
        raise NotDone(
            f"AWS_PROFILE is {os.environ.get('AWS_PROFILE', '')!r}, which is no AWS profile of this machine. Name one "
            "of `aws configure list-profiles`, or set the two keys. Nothing was created or spent."
        ) from error
    except ClientError as error:
        kind = Unsure if _http_status(error) >= 500 or re.search("ServiceFault|Internal", turk_code(error)) else NotDone
        raise kind(_explain_error(error)) from error
    except (EndpointConnectionError, ConnectTimeoutError) as error:
        raise NotDone(f"MTurk could not be reached ({type(error).__name__}). Run the same command again.") from error
    except (LookupError, TypeError) as error:  # of an answer without what it has to say
        raise Unsure("MTurk's answer was not what it should be. Run the same command again.") from error
    except BotoCoreError as error:
        raise Unsure(
            f"MTurk has not answered ({type(error).__name__}). Run the same command again; what may have been done is "
            "in the ledger, and MTurk is asked about it first."
        ) from error


def _http_status(error: ClientError) -> int:
    return int(error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 400))


def turk_code(error: ClientError) -> str:
    """MTurk's own name for an error, e.g. InsufficientFunds, else that of AWS."""
    code = str(error.response.get("TurkErrorCode") or "")
    match = re.search(r"AWS\.MechanicalTurk\.(\w+)|AWS\.(\w+)", code or str(error))
    return (match[1] or match[2]) if match else str(error.response["Error"]["Code"])


def _explain_error(error: ClientError) -> str:
    code, operation = turk_code(error), error.operation_name
    if code == "InsufficientFunds":
        return "the MTurk account holds too little money for this. Add prepaid funds, then run the same command again."
    if re.search("ExpiredToken|RequestExpired", code):
        return "the AWS credentials have expired. Get new ones, then run the same command again; nothing is lost."
    if re.search("UnrecognizedClient|InvalidClientTokenId|SignatureDoesNotMatch|AccessDenied|NotAuthorized", code):
        return f"AWS does not accept these credentials for MTurk ({code}). Check the keys and the link to MTurk."
    if re.search("Throttl|TooManyRequests|ServiceFault|ServiceUnavailable|Internal", code):
        return f"MTurk is busy ({code} on {operation}). Run the same command again: it goes on where it stopped."
    return f"MTurk refused {operation} ({code}). Nothing else was done."
