#!/bin/sh
# After a package is installed or upgraded: the service's user, its settings, and a running service anew.
set -e
environment=/etc/hooklaunch/environment
if ! getent passwd hooklaunch >/dev/null; then
  useradd --system --home-dir /var/lib/hooklaunch --shell /usr/sbin/nologin hooklaunch
fi
if [ ! -e "$environment" ]; then
  (
    umask 077
    echo "HOOKLAUNCH_ADMIN_TOKEN=$(od -An -N32 -tx1 /dev/urandom | tr -d ' \n')" >"$environment"
  )
  echo "Settings are in $environment. Start the service: systemctl enable --now hooklaunch"
fi
if [ -d /run/systemd/system ]; then
  # A service that is masked, or does not start, is no fault of the package.
  if ! systemctl daemon-reload || ! systemctl try-restart hooklaunch; then
    echo "The service is not started again: look at systemctl status hooklaunch" >&2
  fi
fi
