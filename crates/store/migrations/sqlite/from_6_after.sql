-- Copies what was put aside into the tables of schema 7.
INSERT INTO plan(key, id, project, name, title, revision, rules, goal, end, next_number, placed, open,
  created_at, updated_at)
SELECT key, id, project, name, title, revision, rules, goal, end, next_number, placed, open,
  created_at, updated_at FROM old_plan;

-- Only the four statuses are allowed from now on.
INSERT INTO item(plan, number, id, position, status, priority, parent, attempt, created_at, started_at,
  completed_at, superseded_at, depends_on, waiting_on, claim, title, active_form, agent_type, owner, outcome,
  context, completion_criteria, extra)
SELECT plan, number, id, position,
  iif(status IN ('pending', 'in_progress', 'completed', 'cancelled'), status, 'pending'),
  priority, parent, attempt, created_at, started_at, completed_at, superseded_at, depends_on, waiting_on,
  claim, title, active_form, agent_type, owner, outcome, context, completion_criteria, extra FROM old_item;

INSERT INTO dependency(plan, item, on_item) SELECT plan, item, on_item FROM old_dependency;

UPDATE item SET unmet = (
  SELECT count(*) FROM dependency d JOIN item o ON o.plan = d.plan AND o.number = d.on_item
  WHERE d.plan = item.plan AND d.item = item.number
    AND o.status <> 'completed' AND o.superseded_at IS NULL
) + (
  SELECT count(*) FROM item c WHERE c.plan = item.plan AND c.parent = item.number
    AND c.status IN ('pending', 'in_progress') AND c.superseded_at IS NULL
);

INSERT INTO journal(seq, plan, revision, at, actor_kind, actor, kind, undoes, events)
SELECT seq, plan, revision, at, actor_kind, actor, kind, undoes, events FROM old_journal ORDER BY seq;

-- The plan's row named the one conversation that has seen the newest revision by making it.
INSERT INTO attachment(project, agent, conversation, sub_agent, turn, plan, shown, at)
SELECT a.project, a.agent, a.conversation, a.sub_agent, a.turn, a.plan,
  iif(p.seen_by = json_array(a.project, a.agent, a.conversation, a.sub_agent, a.turn),
    max(p.revision, a.shown), a.shown),
  a.at
FROM old_attachment a JOIN old_plan p ON p.key = a.plan;

INSERT INTO session SELECT * FROM old_session;
INSERT INTO run SELECT * FROM old_run;
INSERT INTO call SELECT * FROM old_call;
INSERT INTO question SELECT * FROM old_question;
INSERT INTO message SELECT * FROM old_message;

DROP TABLE old_message;
DROP TABLE old_question;
DROP TABLE old_call;
DROP TABLE old_run;
DROP TABLE old_session;
DROP TABLE old_attachment;
DROP TABLE old_journal;
DROP TABLE old_dependency;
DROP TABLE old_item;
DROP TABLE old_plan;
