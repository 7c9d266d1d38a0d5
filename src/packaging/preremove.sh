#!/bin/sh
# Before a package is removed, and not where another version takes its place: the service stops.
set -e
case "$1" in
  remove | 0)
    if [ -d /run/systemd/system ]; then
      # The package can be removed all the same, such as where the service is masked.
      systemctl disable --now hooklaunch || echo "The service is not stopped by the removal" >&2
    fi
    ;;
esac
