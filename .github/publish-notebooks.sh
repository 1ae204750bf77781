#!/usr/bin/env bash
# Publish a folder of notebooks as the branch "notebooks": one commit without history, and none when no notebook changed.
# usage, within a clone: publish-notebooks.sh <folder> <source commit> [remote]
set -euo pipefail

folder=$(cd "$1" && pwd)
source=$2
remote=${3:-origin}
ref=refs/heads/notebooks

[[ $source =~ ^[0-9a-f]{40}$ ]] || { echo "publish-notebooks: '$source' is no full commit hash" >&2; exit 2; }
for part in lectures labs; do
  if [[ ! -d $folder/$part || -z $(find "$folder/$part" -name '*.ipynb' -print -quit) ]]; then
    echo "publish-notebooks: no notebook in $1/$part; the branch stays as it is" >&2
    exit 2
  fi
done

git_dir=$(git rev-parse --absolute-git-dir)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export GIT_INDEX_FILE=$scratch/index # the clone's own index and files are left alone

(cd "$folder" && git --git-dir="$git_dir" --work-tree="$folder" -c core.autocrlf=false add --all --force .)
readme=$(git hash-object -w --stdin << TEXT
# Notebooks of Three Ledgers

The pages with code, with their outputs, built from commit
$source.

Change the pages they are made from, not these files: each push of changed notebooks replaces this branch.
TEXT
)
git update-index --add --cacheinfo "100644,$readme,README.md"
tree=$(git write-tree)

old=$(git ls-remote "$remote" "$ref" | cut -f1)
if [[ -n $old ]]; then
  git fetch --quiet --depth=1 "$remote" "$ref"
  changed=$(git diff-tree -r --name-only "$old" "$tree" -- . ':(exclude)README.md')
  if [[ -z $changed ]]; then
    echo "publish-notebooks: no notebook changed"
    exit 0
  fi
  echo "$changed"
fi

export GIT_AUTHOR_NAME="github-actions[bot]" GIT_AUTHOR_EMAIL="41898282+github-actions[bot]@users.noreply.github.com"
export GIT_COMMITTER_NAME=$GIT_AUTHOR_NAME GIT_COMMITTER_EMAIL=$GIT_AUTHOR_EMAIL
commit=$(git commit-tree "$tree" -m "Notebooks of $source")
git push --quiet --force-with-lease="$ref:$old" "$remote" "$commit:$ref"
echo "publish-notebooks: ${ref#refs/heads/} is now $commit"
