# The service in a container. Build: docker build -t hooklaunch .
FROM denoland/deno:debian-2.9.6

# git fetches the projects' repositories; steps run with what the image has, so add what yours need.
RUN apt-get update \
  && apt-get install -y --no-install-recommends git openssh-client ca-certificates tini \
  && rm -rf /var/lib/apt/lists/*

WORKDIR /app
COPY deno.json deno.lock ./
COPY src ./src
RUN deno install --frozen --entrypoint src/main.ts \
  && mkdir /data && chown deno:deno /data

USER deno
VOLUME /data
EXPOSE 8000
ENV HOOKLAUNCH_HOST=0.0.0.0 HOOKLAUNCH_PORT=8000 HOOKLAUNCH_DATA=/data
# Only /healthz answers plain HTTP; a service with TLS of its own is asked over HTTPS.
HEALTHCHECK CMD ["deno", "eval", "const a = await fetch('http://127.0.0.1:8000/healthz'); if (!a.ok) Deno.exit(1)"]

# tini reaps what steps leave behind and hands SIGTERM on.
ENTRYPOINT ["tini", "--", "deno", "task", "--quiet", "hooklaunch"]
CMD ["serve"]
