"""A study that is served, and a Mechanical Turk on this machine beside it."""

from contextlib import contextmanager

import boto3

from seedvote.crowd.__main__ import COMMANDS
from seedvote.crowd.exchange import exporting
from seedvote.crowd.marketplaces.ledger import PayoutLedger
from seedvote.crowd.store.launches import read_record
from seedvote.crowd.study_folder import opened
from seedvote.crowd.watching.progress import progress
from seedvote.dialogue.shell.command_line import dispatch
from tests.crowd.marketplaces.mturk_endpoint import serve
from tests.crowd.marketplaces.study import Person, make_study, served


class Study:
    """A study that is served, and the marketplace beside it."""

    def __init__(self, folder, app, url, turk, site, database):
        self.folder, self.app, self.url, self.turk, self.site = folder, app, url, turk, site
        self.database = database  # None: in the folder

    def command(self, name, *arguments):
        database = ("--database", self.database) if self.database else ()
        return dispatch("crowd", "", COMMANDS, [name, str(self.folder), *arguments, *database])

    def launch(self, *arguments):
        return self.command("launch", "--mturk", "--sandbox", "--public-url", self.url, *arguments)

    def hits(self):
        return [hit["hit"] for hit in self.record()["hits"]]

    def work(self, worker, prefers="a", hit=0, hand_in=True):
        """Accept a HIT, work through the sitting, hand the form in."""
        assignment = self.turk.accept(self.hits()[hit], worker)
        person = Person(self.app, "mturk", worker, prefers, sitting=assignment, site=self.site)
        person.work()
        if hand_in:
            assert self.turk.submit({"assignmentId": assignment, "answers": "8"})
        return assignment

    def export(self):
        with opened(self.folder, self.database) as store, store.read() as connection:
            return exporting.export(connection, votes_per_pair=3).votes

    def progress(self):
        with opened(self.folder, self.database) as store, store.read() as connection:
            return progress(connection, 3)

    def record(self):
        with opened(self.folder, self.database) as store, store.read() as connection:
            return read_record(connection, "mturk")

    def ledger(self, *states):
        with opened(self.folder, self.database) as store:
            return PayoutLedger(store, "mturk").read_payouts(*states)


@contextmanager
def mturk_study(folder, monkeypatch, *, database=None, **hit):
    server = serve()
    monkeypatch.setenv("AWS_ENDPOINT_URL_MTURK", server.url)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "example")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "example")
    monkeypatch.setattr(boto3, "DEFAULT_SESSION", None)
    app = make_study(
        folder, sites=(server.url,), launched=False, invited=True, pay_per_sitting=0.75, database=database, **hit
    )
    with served(app) as url:
        yield Study(folder, app, url, server.turk, server.url, database)
    app.extensions["desk"].store.close()
    server.shutdown()
    server.server_close()
