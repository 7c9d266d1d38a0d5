#!/bin/sh
# After a package is installed or upgraded: the service's user, its settings, and a running service anew.
set -e
folder=/etc/hooklaunch
environment=$folder/environment
if ! getent group hooklaunch >/dev/null; then groupadd --system hooklaunch; fi
if ! getent passwd hooklaunch >/dev/null; then
  useradd --system --gid hooklaunch --home-dir /var/lib/hooklaunch --shell /usr/sbin/nologin hooklaunch
fi
# The service reads what the settings name, such as a certificate. The settings themselves are read by systemd.
chgrp hooklaunch "$folder"
chmod g+rx "$folder"
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
