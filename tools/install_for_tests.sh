#!/usr/bin/env bash
# Install what the tests start besides Python, from Debian's own packages: a PostgreSQL server for
# the ledger and Chromium for the page. Does nothing where both are there.
set -euo pipefail

wanted() {
  command -v postgres >/dev/null || compgen -G "/usr/lib/postgresql/*/bin/postgres" >/dev/null || echo postgresql
  [[ -x /usr/bin/chromium ]] || echo chromium
}

mapfile -t packages < <(wanted)
[[ ${#packages[@]} -eq 0 ]] && exit 0

as_root=()
if [[ $(id -u) -ne 0 ]]; then
  as_root=(sudo -n)
fi
if ! command -v apt-get >/dev/null || ! "${as_root[@]}" true 2>/dev/null; then
  echo "Missing here: ${packages[*]}. Only root can install them, by apt-get; tests that need them will fail." >&2
  exit 0
fi

echo "Installing ${packages[*]} ..."
said=$(mktemp)
trap 'rm -f "$said"' EXIT
for attempt in 1 2; do
  if "${as_root[@]}" apt-get -q update >"$said" 2>&1 \
    && "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
      apt-get -q -y --no-install-recommends install "${packages[@]}" >>"$said" 2>&1; then
    exit 0
  fi
  echo "Attempt $attempt failed:" >&2
  tail -n 5 "$said" >&2
  sleep 5
done
echo "Not installed: ${packages[*]}. Tests that need them will fail." >&2
