#!/usr/bin/env bash
# Open the issue labelled "weekly", or add a comment to the one that is open: never two at a time.
# usage: open-issue.sh <what failed>; GH_TOKEN, GH_REPO and RUN_URL are set
set -euo pipefail

what=$1
body="The weekly run did not pass: $what. $RUN_URL"

open=$(gh api "repos/$GH_REPO/issues?labels=weekly&state=open&per_page=100" \
  --jq 'map(select(has("pull_request") | not)) | .[0].number // empty')
if [[ -n $open ]]; then
  gh issue comment "$open" --body "$body"
  exit 0
fi
gh label create weekly --force --color FBCA04 --description "What changed outside: newest versions, links"
gh issue create --label weekly --title "The weekly run did not pass" --body "$body"
