"""A study that is served, and a Prolific on this machine beside it."""

from contextlib import contextmanager

from seedvote.crowd.__main__ import COMMANDS
from seedvote.crowd.exchange import exporting
from seedvote.crowd.marketplaces.ledger import PayoutLedger
from seedvote.crowd.store.launches import read_record, write_record
from seedvote.crowd.study_folder import opened
from seedvote.crowd.watching.progress import progress
from seedvote.dialogue.shell.command_line import dispatch
from tests.crowd.marketplaces.prolific_endpoint import serve
from tests.crowd.marketplaces.study import Person, make_study, served


class Study:
    """The study, its server and its marketplace; `command` types a command."""

    def __init__(self, folder, app, url, prolific, database):
        self.folder, self.app, self.url, self.prolific, self.study = folder, app, url, prolific, ""
        self.database = database  # None: in the folder

    def command(self, name, *arguments):
        database = ("--database", self.database) if self.database else ()
        return dispatch("crowd", "", COMMANDS, [name, str(self.folder), *arguments, *database])

    def launch(self, *arguments):
        return self.command("launch", "--prolific", "--public-url", self.url, "--minutes", "10", *arguments)

    def open(self, *arguments):
        """Launch, and publish the draft as the researcher does on Prolific's page."""
        self.launch("--live", "--yes", *arguments)
        self.study = self.record()["study"]
        self.prolific.publish(self.study)

    def come(self, participant, prefers="a", most=1000):
        """Take a place and work; gives the person, who has not gone back yet."""
        submission = self.prolific.join(self.study, participant)
        address = self.prolific.address(submission)
        person = Person(self.app, "prolific", participant, prefers, sitting=submission, address=address)
        person.work(most)
        return person

    def work(self, participant, prefers="a"):
        """Take a place, work through the sitting, go back with the code of the last page."""
        person = self.come(participant, prefers)
        code = person.end().split("complete?cc=")[1].split('"')[0]
        self.prolific.complete(person.sitting, code)
        return person.sitting

    def votes(self):
        with opened(self.folder, self.database) as store, store.read() as connection:
            return exporting.export(connection, votes_per_pair=3).votes

    def progress(self):
        with opened(self.folder, self.database) as store, store.read() as connection:
            return progress(connection, 3)

    def record(self):
        with opened(self.folder, self.database) as store, store.read() as connection:
            return read_record(connection, "prolific")

    def rewrite(self, **values):
        """As an interrupted command has left the record of the launch."""
        with opened(self.folder, self.database) as store, store.write() as connection:
            write_record(connection, "prolific", read_record(connection, "prolific") | values)

    def ledger(self, *states):
        with opened(self.folder, self.database) as store:
            return PayoutLedger(store, "prolific").read_payouts(*states)


@contextmanager
def prolific_study(folder, monkeypatch, *, database=None, **hit):
    server = serve()
    monkeypatch.setenv("PROLIFIC_API_URL", server.url)
    monkeypatch.setenv("PROLIFIC_TOKEN", "example")
    values = {"pay_per_sitting": 1.5, "currency": "GBP"} | hit
    app = make_study(folder, launched=False, invited=True, sites=(), database=database, **values)
    with served(app) as url:
        yield Study(folder, app, url, server.prolific, database)
    app.extensions["desk"].store.close()
    server.shutdown()
    server.server_close()
