# Fetches the code of a job: the files of a commit, into the folder "repository". The service sends this script to
# machines whose jobs fetch their code themselves, with the files that it reads: "url", "commit", ".gitconfig",
# perhaps "credentials", and perhaps "archive" for machines without git. Nothing secret is in a command line.
#
# Exit code 9: trying again does not help.
set -eu
umask 077
HOOKLAUNCH_CODE=$PWD/control/code
export HOOKLAUNCH_CODE
commit=$(cat control/code/commit)
url=$(cat control/code/url)
rm -rf repository control/code/git control/code/files.tar.gz
mkdir repository

if ! command -v git >/dev/null; then
  if [ ! -e control/code/archive ]; then
    echo 'this machine has no git: install it, or choose an image of the agent that has it'
    exit 9
  fi
  curl -q -K control/code/archive -o control/code/files.tar.gz </dev/null
  tar -xzf control/code/files.tar.gz -C repository --strip-components=1
  exit 0
fi

# Nothing of the machine's user plays a part. Its system may have proxies and certificates.
unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE GIT_OBJECT_DIRECTORY GIT_ALTERNATE_OBJECT_DIRECTORIES GIT_CONFIG \
  GIT_CONFIG_GLOBAL GIT_CONFIG_COUNT GIT_CONFIG_PARAMETERS GIT_SSH GIT_SSH_COMMAND GIT_TRACE GIT_TRACE_CURL \
  GIT_CURL_VERBOSE XDG_CONFIG_HOME
export HOME="$HOOKLAUNCH_CODE" LC_ALL=C
export GIT_TERMINAL_PROMPT=0 GIT_ASKPASS= SSH_ASKPASS= GIT_ALLOW_PROTOCOL=http:https GIT_LFS_SKIP_SMUDGE=1
if [ "${#commit}" = 64 ]; then
  git init --quiet --bare --template= --object-format=sha256 control/code/git
else
  git init --quiet --bare --template= control/code/git
fi

# fetch [OPTION...] REFSPEC...
fetch() {
  git --git-dir=control/code/git fetch --quiet --no-tags --no-recurse-submodules "$@" </dev/null
}
if ! fetch --depth=1 -- "$url" "$commit" 2>control/code/said; then
  # Some servers give out no single commit. They give out their branches.
  case $(cat control/code/said) in
    *'not our ref'* | *unadvertised* | *shallow*)
      fetch -- "$url" '+refs/heads/*:refs/heads/*' '+refs/tags/*:refs/tags/*'
      if ! git --git-dir=control/code/git cat-file -e "$commit^{commit}" 2>/dev/null; then
        echo 'the repository does not have it, or no branch or tag leads to it'
        exit 9
      fi ;;
    *)
      cat control/code/said
      exit 1 ;;
  esac
fi
# No filter of a configuration runs.
HOME=/nonexistent GIT_CONFIG_NOSYSTEM=1 git --git-dir=control/code/git --work-tree=repository \
  read-tree --reset -u "$commit"
