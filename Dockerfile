# One image for gateways, workers, chores and migrations; compose.yaml says which one a container is.
FROM python:3.13-slim AS packages
COPY requirements.lock /
RUN python -m venv /venv \
 && /venv/bin/pip install --no-cache-dir --disable-pip-version-check --require-hashes -r /requirements.lock

FROM python:3.13-slim
RUN useradd --uid 10001 --no-create-home --home-dir /app --shell /usr/sbin/nologin onsale \
 && install -d -o 10001 -g 10001 -m 0700 /var/lib/onsale
COPY --from=packages /venv /venv
WORKDIR /app
COPY store store
COPY allocator allocator
COPY notifier notifier
COPY gateway gateway
COPY onsale onsale
COPY bench bench
COPY deploy/entrypoint.sh deploy/entrypoint.sh
COPY deploy/onsale bin/onsale
# Compiled here, because the running container cannot write.
RUN /venv/bin/python -m compileall -q .
ENV PATH=/app/bin:/venv/bin:$PATH PYTHONPATH=/app PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
USER 10001:10001
EXPOSE 8000
ENTRYPOINT ["sh", "/app/deploy/entrypoint.sh"]
CMD ["python", "-m", "gateway"]
