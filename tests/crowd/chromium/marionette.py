"""Debian's Firefox, driven by its own remote protocol (Marionette) over a socket: commands of WebDriver as JSON."""

import json
import shutil
import socket
import subprocess
import time
from contextlib import contextmanager

from tests.house.waiting import PATIENCE, wait_for

ELEMENT = "element-6066-11e4-a52e-4f735466cecf"  # the key that WebDriver's standard gives to references


class Firefox:
    """One session; its elements are references that are good as long as their page."""

    def __init__(self, port):
        self.socket, self.number = wait_for(lambda: connected(port)), 0
        self._read()  # it says hello
        self.send("NewSession", acceptInsecureCerts=True)

    def send(self, command, **options):
        self.number += 1
        text = json.dumps([0, self.number, f"WebDriver:{command}", options]).encode()
        self.socket.sendall(b"%d:%b" % (len(text), text))
        _, _, error, result = self._read()
        if error:
            raise RuntimeError(f"{command}: {error['error']}: {error['message']}")
        return result.get("value") if isinstance(result, dict) and set(result) == {"value"} else result

    def _read(self):
        head = b""
        while not head.endswith(b":"):
            head += self.socket.recv(1)
        left, parts = int(head[:-1]), []
        while left:
            parts.append(self.socket.recv(left))
            left -= len(parts[-1])
        return json.loads(b"".join(parts))

    def tab(self, url):
        """A new tab that shows this address; gives its name."""
        name = self.send("NewWindow", type="tab")["handle"]
        self.send("SwitchToWindow", handle=name)
        self.send("Navigate", url=url)
        return name

    def into(self, tab):
        """The frame of this tab's page is what follows speaks to."""
        self.here = tab
        self.send("SwitchToWindow", handle=tab)
        self.send("SwitchToFrame", id=None)
        self.send("SwitchToFrame", element=self.send("FindElement", using="css selector", value="iframe")[ELEMENT])

    def script(self, text):
        return self.send("ExecuteScript", script=text, args=[])

    def until(self, text):
        """Wait until this expression is true in the frame; one that is being replaced has no answer yet."""

        def holds():
            try:
                return self.script(f"return {text}")
            except RuntimeError:  # the frame has gone to another page, perhaps in another process
                self.into(self.here)
                return None

        return wait_for(holds)

    def click(self, selector):
        self.until(f"document.readyState === 'complete' && !!document.querySelector({json.dumps(selector)})")
        found = self.send("FindElement", using="css selector", value=selector)
        self.send("ElementClick", id=found[ELEMENT])


def connected(port):
    try:
        found = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)
    except OSError:
        time.sleep(0.05)
        return None
    found.settimeout(PATIENCE)
    return found


def firefox_here():
    return shutil.which("firefox-esr") or shutil.which("firefox")


@contextmanager
def firefox(profile, **preferences):
    """A headless Firefox with a profile of its own and these preferences."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    profile.mkdir()
    known = {"marionette.port": port, "datareporting.policy.dataSubmissionEnabled": False, **preferences}
    lines = [f"user_pref({json.dumps(name)}, {json.dumps(value)});\n" for name, value in known.items()]
    (profile / "user.js").write_text("".join(lines))
    command = [firefox_here(), "--headless", "--marionette", "--no-remote", "--profile", str(profile)]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(command, **quiet) as process:
        try:
            found = Firefox(port)
            yield found
            found.socket.close()
        finally:
            process.kill()
