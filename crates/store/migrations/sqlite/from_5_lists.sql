-- Up to schema 5 only the journal said which items an agent's own list had brought.
UPDATE item SET extra = json_set(ifnull(extra, '{}'), '$.from_list', json('true'))
WHERE superseded_at IS NULL AND json_valid(ifnull(extra, '{}')) AND (plan, number) IN (
  SELECT j.plan, json_extract(e.value, '$.item.number')
  FROM (SELECT plan, events FROM journal
    WHERE kind = 'replace' AND actor_kind = 'agent' AND json_valid(events)) j,
    json_each(j.events) e
  WHERE json_extract(e.value, '$.event') = 'added'
);
