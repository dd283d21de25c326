# The daemon and its CLI, alone with the shared libraries they load: no shell, no package manager, no root.
#
#   docker build -t toolrack .
#   docker run --read-only --cap-drop=ALL --name rack toolrack
#   docker exec rack toolrack list

FROM debian:bookworm-slim AS build

COPY deploy/packages/build.txt /packages.txt
RUN apt-get update \
 && sed 's/ .*//' /packages.txt | xargs apt-get install -y --no-install-recommends \
 && rm -rf /var/lib/apt/lists/*

WORKDIR /src
COPY CMakeLists.txt CMakePresets.json ./
COPY proto proto
COPY registry registry
COPY renderers renderers
COPY client client
COPY server server
ENV CCACHE_BASEDIR=/src CCACHE_NOHASHDIR=1
RUN cmake --preset release -DTOOLRACK_TESTS=OFF -DTOOLRACK_BENCH=OFF \
 && cmake --build build/release --target toolrackd toolrack

# /image: the two programs, what the loader needs for them, the authorities that https trusts, the time zones, and the
# one user.
RUN set -eu; \
    mkdir -p /image/usr/bin /image/usr/share /image/etc/toolrack; \
    strip -o /image/usr/bin/toolrackd build/release/bin/toolrackd; \
    strip -o /image/usr/bin/toolrack build/release/bin/toolrack; \
    ldd build/release/bin/toolrackd build/release/bin/toolrack | grep -o '/[^ ]*\.so[^ ]*' | sort -u \
      | xargs cp -L --parents -t /image; \
    cp -L --parents -t /image /etc/ssl/certs/ca-certificates.crt; \
    cp -a /usr/share/zoneinfo /image/usr/share/; \
    rm -rf /image/usr/share/zoneinfo/right /image/usr/share/zoneinfo/posix; \
    echo 'toolrack:x:65532:65532:toolrack:/:/sbin/nologin' > /image/etc/passwd; \
    echo 'toolrack:x:65532:' > /image/etc/group; \
    mkdir -m 0750 -p /runtime

FROM scratch
LABEL org.opencontainers.image.title="toolrack" \
      org.opencontainers.image.description="A registry of LLM tools as a daemon, over gRPC" \
      org.opencontainers.image.licenses="Apache-2.0"
COPY --from=build /image /
COPY --from=build --chown=65532:65532 /runtime /run/toolrack
USER 65532:65532
# agent.sock, worker.sock and control.sock: share this volume with the containers that use them.
VOLUME /run/toolrack
HEALTHCHECK --interval=10s --timeout=3s --start-period=10s --retries=3 CMD ["toolrack", "health", "--ready"]
ENTRYPOINT ["toolrackd"]
