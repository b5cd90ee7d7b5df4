-- Who may use the HTTP server: digests of tokens, codes and browser sessions; the path of the pages; the
-- servers that run.
CREATE TABLE punchlist.access_grant(
  id text COLLATE "C" PRIMARY KEY,
  kind text NOT NULL CHECK (kind IN ('token', 'code', 'browser')),
  name text COLLATE "C" NOT NULL,
  role text NOT NULL CHECK (role IN ('viewer', 'worker', 'admin')),
  project text COLLATE "C",
  -- In hexadecimal digits.
  digest text NOT NULL CHECK (length(digest) = 64),
  created_at bigint NOT NULL,
  expires_at bigint,
  ended_at bigint
);

-- The name of a token is free again when the token was revoked.
CREATE UNIQUE INDEX access_grant_name ON punchlist.access_grant(name)
  WHERE kind = 'token' AND ended_at IS NULL;

CREATE TABLE punchlist.access_site(
  only_one boolean PRIMARY KEY DEFAULT true CHECK (only_one),
  path text NOT NULL
);

CREATE TABLE punchlist.access_server(
  host text COLLATE "C" NOT NULL,
  address text COLLATE "C" NOT NULL,
  origin text NOT NULL,
  process text NOT NULL,
  started_at bigint NOT NULL,
  PRIMARY KEY (host, address)
);
