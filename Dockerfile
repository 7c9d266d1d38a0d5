# The service in a container. Build: docker build -t hooklaunch .
FROM denoland/deno:debian-2.9.6

# git fetches the projects' repositories; steps run with what the image has, so add what yours need.
RUN apt-get update \
  && apt-get install -y --no-install-recommends git openssh-client ca-certificates tini \
  && rm -rf /var/lib/apt/lists/*

WORKDIR /app
COPY deno.json deno.lock ./
COPY src ./src
# The home is for the keys and known hosts of git over SSH: the base image's user has none.
RUN deno cache --lock=deno.lock --frozen src/main.ts \
  && install -d -m 700 -o deno -g deno /data /home/deno \
  && ln -s /app/src/bin/hooklaunch /usr/local/bin/hooklaunch

USER deno
VOLUME /data
EXPOSE 8000
# Deno's own spans hold whole URLs, and with them the secrets of senders: the service makes its own.
ENV HOOKLAUNCH_HOST=0.0.0.0 HOOKLAUNCH_PORT=8000 HOOKLAUNCH_DATA=/data OTEL_DENO_TRACING=false
# A service that serves TLS is asked over HTTPS, by an address that its certificate need not name.
HEALTHCHECK --interval=30s --timeout=10s --start-period=30s CMD \
  OTEL_DENO=false NO_PROXY=127.0.0.1 deno eval --quiet --unsafely-ignore-certificate-errors=127.0.0.1 \
  "const { HOOKLAUNCH_TLS_CERT: cert, HOOKLAUNCH_ACME: acme, HOOKLAUNCH_PORT: port } = Deno.env.toObject(); \
  const answer = await fetch((cert || acme ? 'https' : 'http') + '://127.0.0.1:' + port + '/healthz'); \
  if (!answer.ok) Deno.exit(1)" 2>/dev/null

# tini reaps what steps leave behind and hands SIGTERM on.
ENTRYPOINT ["tini", "--", "deno", "task", "--quiet", "hooklaunch"]
# A container that takes the place of another one waits for its end.
CMD ["serve", "--wait"]
