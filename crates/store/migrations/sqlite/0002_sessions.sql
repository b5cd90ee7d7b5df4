CREATE TABLE session(
  agent TEXT NOT NULL,
  id TEXT NOT NULL,
  project TEXT NOT NULL,
  directory TEXT NOT NULL,
  process TEXT,
  interactive INTEGER,
  begun_at INTEGER NOT NULL,
  seen_at INTEGER NOT NULL,
  ended_at INTEGER,
  memory TEXT NOT NULL,
  version INTEGER NOT NULL,
  PRIMARY KEY(agent, id)
) STRICT, WITHOUT ROWID;

CREATE INDEX session_process ON session(process, seen_at) WHERE process IS NOT NULL;
CREATE INDEX session_project ON session(project, seen_at);
