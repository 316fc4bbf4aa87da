#!/bin/sh
# Makes the secrets compose.yaml reads, once; existing ones are kept. Needs openssl.
# What another gives (Stripe's keys, a human check's secret) is an empty file until you put it there; empty is as if it were not set.
# The folder is closed to others; the files inside are readable, because containers run as other users.
set -eu
cd "$(dirname "$0")"
umask 077
mkdir -p secrets
make() {
  [ -s "secrets/$1" ] || { printf '%s' "$2" >"secrets/$1"; echo "made deploy/secrets/$1"; }
  chmod 0444 "secrets/$1"
}
put_here() {
  [ -e "secrets/$1" ] || { : >"secrets/$1"; echo "deploy/secrets/$1 is empty: $2"; }
  chmod 0644 "secrets/$1"
}
make postgres_password "$(openssl rand -hex 32)"
make database_url "postgresql://onsale:$(cat secrets/postgres_password)@postgres:5432/onsale"
make token_secret "$(openssl rand -hex 32)"
make operator_key "$(openssl rand -hex 32)"
make ticket_key "$(openssl rand -hex 32)"
make room_key "$(openssl rand -hex 32)"
make simulated_secret "whsec_$(openssl rand -base64 32)"
make grafana_password "$(openssl rand -hex 16)"
put_here tls_certificate "put your certificate, its chain and its key into it, one after the other, to serve HTTPS"
put_here human_check_secret "put the human check's secret into it if joining takes one"
put_here stripe_key "put Stripe's restricted key into it if you are paid by Stripe"
put_here stripe_webhook_secret "and the signing secret of its webhook endpoint"
