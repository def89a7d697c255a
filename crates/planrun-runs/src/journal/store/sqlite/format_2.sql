-- Results that may be used again.
CREATE TABLE cache (
    -- The hash of the tool, its contract, its arguments and the credentials that it is called with.
    key   BLOB    PRIMARY KEY,
    -- When it was given, in nanoseconds since 1970, and by which run.
    at    INTEGER NOT NULL,
    run   TEXT    NOT NULL,
    -- Typed JSON.
    value TEXT    NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX cache_by_age ON cache (at);

-- What hashes of credentials are keyed with: one row, never told.
CREATE TABLE cache_secret (bytes BLOB NOT NULL) STRICT;
INSERT INTO cache_secret VALUES (randomblob(32));
