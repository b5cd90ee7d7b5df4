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

CREATE INDEX run_plan ON run(plan);

CREATE TABLE call(
  run INTEGER NOT NULL REFERENCES run,
  number INTEGER NOT NULL,
  item INTEGER,
  tool TEXT NOT NULL,
  state TEXT NOT NULL,
  last INTEGER NOT NULL,
  asks INTEGER NOT NULL,
  PRIMARY KEY(run, number)
) STRICT, WITHOUT ROWID;

CREATE TABLE call_event(
  run INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  call INTEGER NOT NULL,
  state TEXT NOT NULL,
  attempt INTEGER NOT NULL,
  at INTEGER NOT NULL,
  request TEXT,
  detail TEXT,
  PRIMARY KEY(run, seq),
  FOREIGN KEY(run, call) REFERENCES call
) STRICT, WITHOUT ROWID;

CREATE TABLE question(
  key INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  run INTEGER NOT NULL,
  call INTEGER NOT NULL,
  item INTEGER,
  answer TEXT,
  asked TEXT NOT NULL,
  FOREIGN KEY(run, call) REFERENCES call
) STRICT;

CREATE INDEX question_open ON question(run, call) WHERE answer IS NULL;

CREATE TABLE message(
  key INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  conversation TEXT NOT NULL,
  steer INTEGER NOT NULL,
  at INTEGER NOT NULL,
  edited_at INTEGER,
  taken_at INTEGER,
  text TEXT NOT NULL
) STRICT;

CREATE INDEX message_waiting ON message(conversation) WHERE taken_at IS NULL;
