"""The tables of a store. A study that was begun with 0.2.0 opens: no table or column here is renamed or dropped.

Whoever changes them raises `SCHEMA_VERSION` in crowd/store/store.py and writes the migration of older stores.
"""

from __future__ import annotations

import sqlalchemy as sa

from seedvote.dialogue.records import Source

METADATA = sa.MetaData()

study_settings = sa.Table("study", METADATA, sa.Column("key", sa.Text, primary_key=True), sa.Column("value", sa.Text))

pairs = sa.Table(
    "pairs",
    METADATA,
    sa.Column("pair", sa.Text, primary_key=True),
    sa.Column("position", sa.BigInteger, nullable=False),  # random order of the study, from its seed
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("open", sa.Integer, nullable=False),  # 1: offered to raters and short of votes
    sa.Column("votes", sa.Integer, nullable=False, default=0),  # places taken: by votes that count, or that wait
    sa.Column("live", sa.Integer, nullable=False, default=0),  # places taken + leases that are held or reserved
    sa.Column("offered", sa.Integer, nullable=False),  # 0: a check, or an identical pair that is not shown
    sa.Column("body", sa.Text, nullable=False),  # the Pair record as JSON, as the file had it when it was loaded
    sa.Column("mended", sa.Text),  # checks: the answer that holds instead of the body's, or "void"
    sa.Column("version", sa.Integer, nullable=False, server_default="0"),  # whose raters see it; 0: everybody
    # of an adaptive study, see crowd/rating/batches.py: the votes it is to get so far; null: votes_per_pair of hit.toml
    sa.Column("target", sa.Integer),
    sa.Column("batch", sa.Integer),  # that it came into last
    sa.Column("propensity", sa.Float),  # the probability with which it did
    sa.Index("pairs_next", "open", "version", "live", "position"),
)

raters = sa.Table(
    "raters",
    METADATA,
    sa.Column("rater", sa.Text, primary_key=True),  # keyed hash of the marketplace's id, see identity.py
    sa.Column("source", sa.Text, nullable=False),
    sa.Column("status", sa.Text, nullable=False, default="incomplete"),  # written by crowd/rating/standing.py alone
    sa.Column("arrived", sa.Float, nullable=False),
    sa.Column("consent", sa.Text),  # version
    sa.Column("consented", sa.Float),
    sa.Column("instructed", sa.Integer, nullable=False, default=0),  # worked examples answered
    sa.Column("last_vote", sa.Integer),  # what undo would take back
    sa.Column("ruling", sa.Text),  # what a person decided: block or exclude
    sa.Column("why", sa.Text),
    sa.Column("broke", sa.Text),  # the rule of [exclude] in hit.toml that this rater broke
    sa.Column("version", sa.Integer),  # the part of the study that they see, where it has parts
    sa.Column("about", sa.Text),  # what they told about themselves, as JSON; null: not asked yet
    sa.Column("told", sa.Text),  # what they told at the end, as JSON: answers and comments; null: nothing yet
    sa.Column("language", sa.Text),  # of the pages that they read last; null where a study has one
    sa.Column("asked", sa.Integer),  # the fewest first checks that were asked of them when they had answered as many
    # the keyed hash of the person, of a further rater of theirs; null: it is `rater`. See crowd/rating/identities.py
    sa.Column("person", sa.Text),
    sa.Column("proves", sa.Integer, nullable=False, server_default="0"),  # 1: their browser has sent a cookie back
    sa.Index("raters_person", "person"),
)

sittings = sa.Table(
    "sittings",
    METADATA,
    sa.Column("rater", sa.Text, primary_key=True),
    sa.Column("sitting", sa.Integer, primary_key=True),
    sa.Column(
        "key", sa.Text, nullable=False
    ),  # keyed hash of the marketplace's own name for it: assignment, session, "1"
    sa.Column("source", sa.Text, nullable=False),
    sa.Column("slots", sa.Text, nullable=False),  # one sign for each pair of it; in schema 1, which are checks
    sa.Column("begun", sa.Float, nullable=False),
    sa.Column("finished", sa.Float),
    sa.UniqueConstraint("rater", "key"),
)

leases = sa.Table(
    "leases",
    METADATA,
    sa.Column("lease", sa.Integer, primary_key=True, autoincrement=True),
    sa.Column("token", sa.Text, nullable=False, unique=True),  # what the page carries; says nothing
    sa.Column("attempt", sa.Integer, nullable=False, default=0),  # raised by undo, so that a stale click is no answer
    sa.Column("rater", sa.Text, nullable=False),
    sa.Column("sitting", sa.Integer, nullable=False),  # where it was shown, then where it was answered
    sa.Column("slot", sa.Integer, nullable=False),  # how many real pairs the rater had judged when it was shown
    sa.Column("pair", sa.Text, nullable=False),
    sa.Column("kind", sa.Text, nullable=False),  # real, control, check, or void: a check that was declared void
    sa.Column("left", sa.Text, nullable=False),  # the layout, see crowd/forms/: of a pair, the response on the left
    # reserved, held, answered, expired, void (replaced by another), or returned: its live conversation broke off
    sa.Column("state", sa.Text, nullable=False),
    sa.Column("issued", sa.Float, nullable=False),
    sa.Column("expires", sa.Float, nullable=False),
    sa.Column("batch", sa.Integer),  # the pair's, when it was shown
    sa.Column("propensity", sa.Float),
    sa.Column("differences", sa.Integer),  # 1: the words that differ are underlined, 0: not; null: none could be
    sa.UniqueConstraint("rater", "pair"),
    sa.Index("leases_due", "state", "expires"),
    sa.Index("leases_pair", "pair"),
)

DONE = ("answered", "returned")  # states of leases that are work done

# A lease that takes one of its pair's places: the pair is in a rater's hands, or reserved for who has been let in.
# As one list, for which PostgreSQL goes through the index and forgets the entries of leases that were answered; of two
# comparisons with an OR it gathers them all, and each answer leaves another one.
HOLDS_PLACE = leases.c.state.bool_op("IN")(sa.literal_column("('held', 'reserved')"))

votes = sa.Table(
    "votes",
    METADATA,
    sa.Column("vote", sa.Integer, primary_key=True, autoincrement=True),
    sa.Column("lease", sa.Integer, nullable=False, unique=True),
    sa.Column("rater", sa.Text, nullable=False),
    sa.Column("pair", sa.Text, nullable=False),
    sa.Column("source", sa.Text, nullable=False),
    sa.Column("choice", sa.Text, nullable=False),  # the answer, whatever the layout
    sa.Column("left", sa.Text, nullable=False),  # as in leases
    sa.Column("seconds", sa.Float),
    sa.Column("submitted", sa.Float, nullable=False),
    sa.Column("late", sa.Integer, nullable=False),
    sa.Column("counted", sa.Integer, nullable=False),
    sa.Column("failed", sa.Integer),  # checks: 1 failed, 0 right; null for every other pair
    sa.Column(
        "forgiven", sa.Integer, nullable=False, server_default="0"
    ),  # 1: given before a person unblocked the rater
    # 1: of a visit that its marketplace never listed or has taken back, see crowd/rating/identities.py
    sa.Column("aside", sa.Integer, nullable=False, server_default="0"),
    # 1: the marketplace has not yet confirmed the visit; the vote has a place among its pair's k and does not count
    sa.Column("waits", sa.Integer, nullable=False, server_default="0"),
    # JSON: the answers to all questions of the pair, where hit.toml has several; `choice` is that to the first one
    sa.Column("answers", sa.Text),
    # What the page's script saw, where hit.toml has page_view; null without a script
    sa.Column("device", sa.Text),  # phone, tablet or desktop
    sa.Column("turns_seen", sa.Integer),  # turns of the context that were on the screen
    sa.Column("context_seconds", sa.Float),  # for how long any of it was
    sa.Column("marks", sa.Text),  # JSON: passages marked as wrong; null where it was not asked
    sa.Column("differences", sa.Integer),  # as in leases
    sa.UniqueConstraint("rater", "pair"),
    sa.Index("votes_pair", "pair"),
)

messages = sa.Table(  # what raters wrote in live conversations, see crowd/rating/talks.py; of a lease one conversation
    "messages",
    METADATA,
    sa.Column("lease", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),  # 1, 2, ...
    sa.Column("text", sa.Text),  # null: erased
    sa.Column("said", sa.Float, nullable=False),
)

replies = sa.Table(  # what was or is to be answered to them, and what each call cost
    "replies",
    METADATA,
    sa.Column("lease", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),  # of the message; 0: to the opening
    sa.Column("side", sa.Text, primary_key=True),  # a or b of the pair
    sa.Column("state", sa.Text, nullable=False),  # queued, sent, answered, failed, or dropped: nobody waits for it
    sa.Column("text", sa.Text),
    sa.Column("finish", sa.Text, nullable=False, server_default=""),
    sa.Column("model", sa.Text, nullable=False, server_default=""),  # as the reply names it
    sa.Column("tokens_in", sa.Integer),
    sa.Column("tokens_out", sa.Integer),
    sa.Column("seconds", sa.Float),
    sa.Column("spent", sa.Float, nullable=False, server_default="0"),  # what its calls cost, or may have cost, so far
    sa.Column("bound", sa.Float, nullable=False, server_default="0"),  # the most that the next call, or this one, costs
    sa.Column("calls", sa.Integer, nullable=False, server_default="0"),
    sa.Column("lost", sa.Integer, nullable=False, server_default="0"),  # of these, those that were never heard of again
    sa.Column("doubted", sa.Integer, nullable=False, server_default="0"),  # replies whose usage cannot be true
    sa.Column("again", sa.Integer, nullable=False, server_default="0"),  # how often the rater asked for it again
    sa.Column("queued", sa.Float, nullable=False),
    sa.Column("until", sa.Float),  # when a call that was sent is given up
    sa.Column("server", sa.Text, nullable=False, server_default=""),  # the process that sent it
    sa.Column("why", sa.Text, nullable=False, server_default=""),  # why it failed; no rater is shown it
)

events = sa.Table(
    "events",
    METADATA,
    sa.Column("event", sa.Integer, primary_key=True, autoincrement=True),
    sa.Column("at", sa.Float, nullable=False),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("rater", sa.Text),
    sa.Column("pair", sa.Text),
    sa.Column("data", sa.Text, nullable=False),
    sa.Index("events_rater", "rater"),
)

# Whose people anybody could make up, and who tell later whom they sent. A test holds it to the table of marketplaces.
ASKED_LATER: tuple[Source, ...] = ("mturk", "prolific", "panel")

payments = sa.Table(  # what paying needs: the only place that holds an id as the marketplace gave it; never exported
    "payments",
    METADATA,
    sa.Column("rater", sa.Text, primary_key=True),
    sa.Column("sitting", sa.Integer, primary_key=True),
    sa.Column("source", sa.Text, nullable=False),
    sa.Column("worker", sa.Text, nullable=False),
    sa.Column("key", sa.Text, nullable=False),
    sa.Column("listed", sa.Float),  # when the marketplace confirmed the visit
    sa.Column("withdrawn", sa.Text),  # why it does not stand behind it: returned, timed out, rejected, not listed
)

payouts = sa.Table(  # the ledger, see crowd/marketplaces/ledger.py: what was paid or may have been; never exported
    "payouts",
    METADATA,
    sa.Column("market", sa.Text, primary_key=True),
    sa.Column("submission", sa.Text, primary_key=True),  # as the marketplace names it; for places, the purchase
    sa.Column("purpose", sa.Text, primary_key=True),
    sa.Column("state", sa.Text, nullable=False),
    sa.Column("amount", sa.Text, nullable=False),  # decimals are written as text: no database here rounds them
    sa.Column("cost", sa.Text, nullable=False),
    sa.Column("currency", sa.Text, nullable=False),
    sa.Column("handle", sa.Text, nullable=False),
    sa.Column("why", sa.Text, nullable=False),
    sa.Column("at", sa.Float, nullable=False),  # of the last change of its state
    sa.Column("sent", sa.Float),  # when the call was made; null: never
    sa.Column("vat", sa.Text, nullable=False, server_default="0"),  # a part of `cost`, where the marketplace says it
)

launches = sa.Table(  # what was created at a marketplace, see crowd/store/launches.py
    "launches",
    METADATA,
    sa.Column("source", sa.Text, primary_key=True),
    sa.Column("record", sa.Text, nullable=False),  # JSON; the fields are the marketplace's own
)

holds = sa.Table(  # visits that somebody wants to look at before they are paid; never exported
    "holds",
    METADATA,
    sa.Column("market", sa.Text, primary_key=True),
    sa.Column("submission", sa.Text, primary_key=True),
    sa.Column("why", sa.Text, nullable=False),
    sa.Column("at", sa.Float, nullable=False),
)
