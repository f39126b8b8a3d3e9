#!/bin/sh
# A probe for the conformance suite: prints how often the event EVENT_ID took effect. It uses the `sqlite3` command.
id=$(printf %s "$EVENT_ID" | sed "s/'/''/g")
sqlite3 -cmd '.timeout 5000' "${DATABASE:-receiver.db}" "SELECT count(*) FROM events WHERE webhook_id = '$id'"
