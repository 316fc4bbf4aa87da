#!/bin/sh
# Takes secrets from files: where NAME_FILE is set, NAME becomes that file's content; an empty file is no secret.
# Values in files stay out of `docker inspect` and of compose.yaml.
set -eu
for name in DATABASE_URL REDIS_URL ONSALE_TOKEN_SECRET ONSALE_OPERATOR_KEY ONSALE_TICKET_KEY \
  ONSALE_ROOM_KEY ONSALE_HUMAN_CHECK_SECRET ONSALE_STRIPE_KEY ONSALE_STRIPE_WEBHOOK_SECRET \
  ONSALE_SIMULATED_SECRET; do
  eval "file=\${${name}_FILE:-}"
  [ -n "$file" ] || continue
  if [ ! -r "$file" ]; then
    echo "${name}_FILE names $file, which cannot be read. Make the secrets with: sh deploy/make-secrets.sh" >&2
    exit 1
  fi
  value=$(cat "$file")
  export "$name=$value"
  unset "${name}_FILE"
done
exec "$@"
