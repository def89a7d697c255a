-- One row a run. What `runs list` shows is a copy for lists; the events are what happened.
CREATE TABLE runs (
    -- Never given twice, so that a late writer of a deleted run meets no other run.
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    run          TEXT    NOT NULL UNIQUE,
    plan         TEXT    NOT NULL,
    -- Of the plan and its inputs, as the caller reckons it.
    digest       BLOB    NOT NULL,
    -- The hash of the pinned document, a row of `blobs`.
    pinned       BLOB    NOT NULL,
    -- Moments are nanoseconds since 1970.
    created_at   INTEGER NOT NULL,
    updated_at   INTEGER NOT NULL,
    state        TEXT    NOT NULL,
    ended        INTEGER NOT NULL DEFAULT 0,
    error        TEXT,
    note         TEXT,
    wake_at      INTEGER,
    steps_done   INTEGER NOT NULL DEFAULT 0,
    steps_all    INTEGER,
    -- The number of the last event, and the value of the chain after it.
    last         INTEGER NOT NULL,
    head         BLOB    NOT NULL,
    -- Grows with each lease; a writer with another value is late.
    epoch        INTEGER NOT NULL,
    -- The lease; null when nobody drives the run.
    driver       TEXT,
    process      INTEGER,
    machine      TEXT,
    driven_since INTEGER,
    driven_until INTEGER
) STRICT;
CREATE INDEX runs_by_age ON runs (created_at);
CREATE INDEX runs_by_plan ON runs (plan, created_at);
CREATE INDEX runs_by_state ON runs (state, created_at);
CREATE INDEX runs_by_wake ON runs (wake_at) WHERE wake_at IS NOT NULL;

-- Events that were written together: lines of JSON, each ended by a line feed.
CREATE TABLE segments (
    -- The id of the run times 2^32 plus the number of the first event: one tree holds runs side by side, each in order.
    id    INTEGER PRIMARY KEY,
    last  INTEGER NOT NULL,
    -- The value of the chain after the last event.
    chain BLOB    NOT NULL,
    text  TEXT    NOT NULL
) STRICT;

-- Large values, once each.
CREATE TABLE blobs (
    id     INTEGER PRIMARY KEY,
    digest BLOB    NOT NULL UNIQUE,
    bytes  BLOB    NOT NULL
) STRICT;

-- Which runs refer to which values.
CREATE TABLE refs (
    blob INTEGER NOT NULL,
    run  INTEGER NOT NULL,
    PRIMARY KEY (blob, run)
) STRICT, WITHOUT ROWID;
CREATE INDEX refs_by_run ON refs (run);

-- What others have said to a run and no event has journaled yet.
CREATE TABLE messages (
    id   INTEGER PRIMARY KEY AUTOINCREMENT,
    run  INTEGER NOT NULL,
    at   INTEGER NOT NULL,
    text TEXT    NOT NULL
) STRICT;
CREATE INDEX messages_by_run ON messages (run, id);
