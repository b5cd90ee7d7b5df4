-- The server keeps samples of a column's values in its catalog, where `forget` cannot reach them. It keeps none
-- of texts. No statement looks for one of these texts, so the planner does not miss the samples.

ALTER TABLE punchlist.plan
  ALTER title SET STATISTICS 0,
  ALTER goal SET STATISTICS 0,
  ALTER "end" SET STATISTICS 0;

ALTER TABLE punchlist.item
  ALTER waiting_on SET STATISTICS 0,
  ALTER claim SET STATISTICS 0,
  ALTER title SET STATISTICS 0,
  ALTER active_form SET STATISTICS 0,
  ALTER agent_type SET STATISTICS 0,
  ALTER owner SET STATISTICS 0,
  ALTER outcome SET STATISTICS 0,
  ALTER context SET STATISTICS 0,
  ALTER completion_criteria SET STATISTICS 0,
  ALTER extra SET STATISTICS 0;

ALTER TABLE punchlist.journal ALTER events SET STATISTICS 0;

ALTER TABLE punchlist.session ALTER memory SET STATISTICS 0;

ALTER TABLE punchlist.run ALTER what SET STATISTICS 0;

ALTER TABLE punchlist.call
  ALTER request SET STATISTICS 0,
  ALTER detail SET STATISTICS 0;

ALTER TABLE punchlist.question
  ALTER answer SET STATISTICS 0,
  ALTER asked SET STATISTICS 0;

ALTER TABLE punchlist.message ALTER text SET STATISTICS 0;

ALTER TABLE punchlist.conversation
  ALTER title SET STATISTICS 0,
  ALTER settings SET STATISTICS 0,
  ALTER waiting_on SET STATISTICS 0;

ALTER TABLE punchlist.turn
  ALTER ending SET STATISTICS 0,
  ALTER machine SET STATISTICS 0;

ALTER TABLE punchlist.turn_entry ALTER body SET STATISTICS 0;
