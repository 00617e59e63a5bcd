CREATE TABLE IF NOT EXISTS lease (
    key             TEXT NOT NULL PRIMARY KEY,
    holder          TEXT,              -- NULL: nobody, the row keeps the counter
    incarnation     TEXT,              -- random, new with every grant
    token           INTEGER NOT NULL,  -- the counter: the token of the last grant
    granted_boot_ns INTEGER,
    renewed_boot_ns INTEGER,
    expires_boot_ns INTEGER,           -- NULL while held: it has no TTL
    boot_id         TEXT
);
