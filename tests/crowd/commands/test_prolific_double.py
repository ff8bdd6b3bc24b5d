"""The Prolific of this machine as a command of its own, which another program speaks to over HTTP."""

import subprocess
import sys

import httpx

from tests.house.doc_blocks import ROOT


def test_it_says_how_to_reach_it_and_answers_there():
    words = [sys.executable, "-m", "crowd", "prolific-double", "--port", "0", "--delay", "0", "--unkind", "1"]
    process = subprocess.Popen(words, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    try:
        lines = [process.stdout.readline() for _ in range(3)]
        url, token = lines[1].split("PROLIFIC_API_URL=")[1].split(" PROLIFIC_TOKEN=")
        assert lines[2].startswith("Next: python -m crowd launch STUDY --prolific")
        headers = {"Authorization": f"Token {token.strip()}"}
        codes = set()
        with httpx.Client(base_url=url, headers=headers, trust_env=False) as client:
            for _ in range(60):
                try:
                    codes.add(client.get("/users/me/").status_code)
                except httpx.TransportError:
                    codes.add("cut")
        assert codes == {200, 429, 500, "cut"}  # as unkind as was asked for
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
