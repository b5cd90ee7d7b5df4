CREATE TABLE run(
  key INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  project TEXT NOT NULL,
  plan INTEGER REFERENCES plan,
  what TEXT NOT NULL,
  process TEXT,
  begun_at INTEGER NOT NULL,
  ended_at INTEGER
) STRICT;

CREATE TABLE call(
  seq INTEGER PRIMARY KEY,
  run INTEGER NOT NULL REFERENCES run,
  number INTEGER NOT NULL,
  item INTEGER,
  tool TEXT NOT NULL,
  state TEXT NOT NULL,
  attempt INTEGER NOT NULL,
  at INTEGER NOT NULL,
  request TEXT,
  detail TEXT
) STRICT;

CREATE INDEX call_number ON call(run, number);

CREATE TABLE question(
  run INTEGER NOT NULL REFERENCES run,
  id TEXT NOT NULL,
  call INTEGER NOT NULL,
  item INTEGER,
  answer TEXT,
  asked TEXT NOT NULL,
  PRIMARY KEY(run, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE message(
  conversation TEXT NOT NULL,
  seq INTEGER NOT NULL,
  id TEXT NOT NULL,
  steer INTEGER NOT NULL,
  at INTEGER NOT NULL,
  edited_at INTEGER,
  taken_at INTEGER,
  text TEXT NOT NULL,
  PRIMARY KEY(conversation, seq)
) STRICT, WITHOUT ROWID;
