# hush as a command, without root. Ledgers and data are in the volume /data:
#   docker build -t hush .
#   docker run --rm -v "$PWD:/data" hush sample visits --out visits.parquet
#   docker run --rm -v "$PWD:/data" hush answer visits.parquet --unit patient_id --count-units --epsilon 1
# Mount the folder of a ledger, never the single file: SQLite keeps a log beside the file.
FROM python:3.12-slim AS build
WORKDIR /source
COPY pyproject.toml README.md LICENSE ./
COPY src ./src
RUN python -m venv /opt/hush && /opt/hush/bin/pip install --no-cache-dir ".[tables]"

FROM python:3.12-slim
COPY --from=build /opt/hush /opt/hush
RUN useradd --create-home --uid 10001 hush && mkdir /data && chown hush /data
USER hush
WORKDIR /data
VOLUME /data
ENTRYPOINT ["/opt/hush/bin/hush"]
CMD ["--help"]
