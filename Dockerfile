# The rating server alone: no torch, no tests. Build: docker build -t seedvote-crowd .
FROM python:3.11-slim-bookworm AS build
WORKDIR /app
COPY requirements.txt constraints.txt ./
# Only the lines of rating and of marketplaces, in the versions of constraints.txt.
RUN python -m venv /opt/venv \
    && sed -nE 's/ *# ([a-z ]+ )?(rate|markets)[ :].*//p' requirements.txt > server.txt \
    && /opt/venv/bin/pip install --no-cache-dir -r server.txt -c constraints.txt

FROM python:3.11-slim-bookworm
RUN useradd --create-home --uid 10001 seedvote && install -d -o seedvote /study
COPY --from=build /opt/venv /opt/venv
WORKDIR /app
COPY dialogue dialogue
COPY crowd crowd
COPY seedvote seedvote
COPY templates templates
ENV PATH=/opt/venv/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 SEEDVOTE_STUDY=/study
ENV PROMETHEUS_MULTIPROC_DIR=/tmp/metrics
USER seedvote
EXPOSE 8000
HEALTHCHECK --interval=10s --timeout=3s --start-period=10s \
    CMD ["python", "-c", "import urllib.request as u; u.urlopen('http://127.0.0.1:8000/health', timeout=2)"]
CMD ["gunicorn", "--workers", "2", "--threads", "8", "--bind", "0.0.0.0:8000", "--keep-alive", "60", \
     "--graceful-timeout", "20", "seedvote.crowd.wsgi:from_environment()"]
