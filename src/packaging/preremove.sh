#!/bin/sh
# Before a package is removed, and not where another version takes its place: the service stops.
set -e
case "$1" in
  remove | 0)
    if [ -d /run/systemd/system ]; then systemctl disable --now hooklaunch; fi
    ;;
esac
