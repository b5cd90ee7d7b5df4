-- The conversations of Punchlist's own agent, their turns, and what happened in each turn.

CREATE TABLE conversation(
  key INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  project TEXT NOT NULL,
  directory TEXT NOT NULL,
  title TEXT NOT NULL,
  settings TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('idle', 'working', 'asked', 'waiting')),
  waiting_on TEXT CHECK ((waiting_on IS NOT NULL) = (state = 'waiting')),
  waiting_until INTEGER CHECK (waiting_until IS NULL OR state = 'waiting'),
  runner TEXT,
  runner_process TEXT CHECK (runner_process IS NULL OR runner IS NOT NULL),
  runner_until INTEGER CHECK ((runner_until IS NULL) = (runner IS NULL)),
  stop_asked_at INTEGER,
  -- Totals of the turns and entries, so that a list of conversations reads only this table.
  turns INTEGER NOT NULL DEFAULT 0 CHECK (turns >= 0),
  calls INTEGER NOT NULL DEFAULT 0 CHECK (calls >= 0),
  input INTEGER NOT NULL DEFAULT 0 CHECK (input >= 0),
  output INTEGER NOT NULL DEFAULT 0 CHECK (output >= 0),
  cost_micros INTEGER NOT NULL DEFAULT 0 CHECK (cost_micros >= 0),
  created_at INTEGER NOT NULL,
  changed_at INTEGER NOT NULL
) STRICT;

CREATE INDEX conversation_project ON conversation(project, changed_at);

CREATE TABLE turn(
  conversation INTEGER NOT NULL REFERENCES conversation,
  number INTEGER NOT NULL,
  id TEXT NOT NULL,
  plan INTEGER REFERENCES plan,
  began_at INTEGER NOT NULL,
  ended_at INTEGER,
  ending TEXT,
  -- Totals of the entries.
  calls INTEGER NOT NULL DEFAULT 0 CHECK (calls >= 0),
  input INTEGER NOT NULL DEFAULT 0 CHECK (input >= 0),
  output INTEGER NOT NULL DEFAULT 0 CHECK (output >= 0),
  cost_micros INTEGER NOT NULL DEFAULT 0 CHECK (cost_micros >= 0),
  machine TEXT NOT NULL,
  PRIMARY KEY(conversation, number)
) STRICT;

CREATE TABLE turn_entry(
  conversation INTEGER NOT NULL REFERENCES conversation,
  number INTEGER NOT NULL CHECK (number > 0),
  turn INTEGER NOT NULL,
  at INTEGER NOT NULL,
  kind TEXT NOT NULL,
  -- What a model call has used; NULL if the entry is not the answer of one.
  calls INTEGER CHECK (calls >= 0),
  input INTEGER CHECK (input >= 0),
  output INTEGER CHECK (output >= 0),
  cost_micros INTEGER CHECK (cost_micros >= 0),
  body TEXT NOT NULL,
  PRIMARY KEY(conversation, number),
  FOREIGN KEY(conversation, turn) REFERENCES turn(conversation, number),
  CHECK ((calls IS NULL) = (input IS NULL) AND (calls IS NULL) = (output IS NULL)
    AND (calls IS NULL) = (cost_micros IS NULL))
) STRICT;

CREATE INDEX turn_entry_turn ON turn_entry(conversation, turn, number);
CREATE INDEX turn_entry_used ON turn_entry(at, calls, input, output, cost_micros)
  WHERE calls IS NOT NULL;
