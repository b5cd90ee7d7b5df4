-- What is open under an item keeps it from being ready, like what it depends on.
UPDATE item SET unmet = unmet + (
  SELECT count(*) FROM item c
  WHERE c.plan = item.plan AND c.parent = item.number
    AND c.status IN ('pending', 'in_progress') AND c.superseded_at IS NULL
) WHERE EXISTS (
  SELECT 1 FROM item c
  WHERE c.plan = item.plan AND c.parent = item.number
    AND c.status IN ('pending', 'in_progress') AND c.superseded_at IS NULL
);

-- What an agent's whole list has brought, the journal tells; from now on the item says so itself.
UPDATE item SET extra = json_set(ifnull(extra, '{}'), '$.from_list', json('true'))
WHERE superseded_at IS NULL AND json_valid(ifnull(extra, '{}')) AND (plan, number) IN (
  SELECT j.plan, json_extract(e.value, '$.item.number')
  FROM (SELECT plan, events FROM journal
    WHERE kind = 'replace' AND actor_kind = 'agent' AND json_valid(events)) j,
    json_each(j.events) e
  WHERE json_extract(e.value, '$.event') = 'added'
);
