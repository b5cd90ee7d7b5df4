-- Who may use the HTTP server: digests of tokens, codes and browser sessions; the path of the pages; the
-- servers that run.

CREATE TABLE access_grant(
  id TEXT PRIMARY KEY NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN ('token', 'code', 'browser')),
  name TEXT NOT NULL,
  role TEXT NOT NULL CHECK (role IN ('viewer', 'worker', 'admin')),
  project TEXT,
  digest BLOB NOT NULL CHECK (length(digest) = 32),
  created_at INTEGER NOT NULL,
  expires_at INTEGER,
  ended_at INTEGER
) STRICT, WITHOUT ROWID;

-- The name of a token is free again when the token was revoked.
CREATE UNIQUE INDEX access_grant_name ON access_grant(name) WHERE kind = 'token' AND ended_at IS NULL;

CREATE TABLE access_site(
  only INTEGER PRIMARY KEY NOT NULL CHECK (only = 1),
  path TEXT NOT NULL
) STRICT;

CREATE TABLE access_server(
  host TEXT NOT NULL,
  address TEXT NOT NULL,
  origin TEXT NOT NULL,
  process TEXT NOT NULL,
  started_at INTEGER NOT NULL,
  PRIMARY KEY (host, address)
) STRICT, WITHOUT ROWID;
