{{/*
What gateways and controllers have in common: `dict "root" . "component" "gateway" "own" .Values.gateway`. Both read the
same fleet state, keys and environments.
*/}}

{{- define "corral.env" -}}
{{- $redis := .Values.redis -}}
- { name: CORRAL_FLEET, value: {{ include "corral.fleet" . | quote }} }
{{- if ne (include "corral.docs" .) "docs" }}
- { name: CORRAL_DOCS, value: {{ include "corral.docs" . | quote }} }
{{- end }}
{{- if $redis.bundled.enabled }}
- { name: CORRAL_REDIS, value: "redis://{{ include "corral.fleet" . }}-redis.{{ .Release.Namespace }}.svc:6379/0" }
- { name: CORRAL_REDIS_PASSWORD_FILE, value: /etc/corral/redis/password }
{{- else if $redis.url }}
- { name: CORRAL_REDIS, value: {{ $redis.url | quote }} }
{{- else }}
- name: CORRAL_REDIS
  valueFrom: { secretKeyRef: { name: {{ $redis.existingSecret.name | quote }}, key: {{ $redis.existingSecret.urlKey | quote }} } }
{{- end }}
{{- with $redis.existingSecret }}
{{- if .usernameKey }}
- { name: CORRAL_REDIS_USERNAME_FILE, value: /etc/corral/redis/{{ .usernameKey }} }
{{- end }}
{{- if .passwordKey }}
- { name: CORRAL_REDIS_PASSWORD_FILE, value: /etc/corral/redis/{{ .passwordKey }} }
{{- end }}
{{- if .sentinelPasswordKey }}
- { name: CORRAL_REDIS_SENTINEL_PASSWORD_FILE, value: /etc/corral/redis/{{ .sentinelPasswordKey }} }
{{- end }}
{{- end }}
{{- if $redis.tls.caSecret.name }}
- { name: CORRAL_REDIS_CA_FILE, value: /etc/corral/redis-ca/{{ $redis.tls.caSecret.key }} }
{{- end }}
{{- if $redis.mayEvict }}
- { name: CORRAL_REDIS_MAY_EVICT, value: "1" }
{{- end }}
- { name: CORRAL_ENVIRONMENTS, value: {{ include "corral.environmentsFolder" . }} }
{{- if .Values.policy }}
- { name: CORRAL_POLICY, value: /etc/corral/policy/policy.yaml }
{{- end }}
- { name: CORRAL_FLEET_KEY_FILE, value: /etc/corral/fleet-key/{{ .Values.fleetKey.existingSecret.key }} }
- { name: CORRAL_EVENT_LOG_DIR, value: /var/lib/corral/events }
- { name: CORRAL_EVENT_LOG_TO, value: {{ join "," .Values.eventLog.to | quote }} }
{{- with .Values.eventLog.maxBytes }}
- { name: CORRAL_EVENT_LOG_MAX_BYTES, value: {{ int64 . | quote }} }
{{- end }}
{{- with .Values.tracing }}
{{- if .endpoint }}
- { name: OTEL_EXPORTER_OTLP_ENDPOINT, value: {{ .endpoint | quote }} }
{{- if not (kindIs "invalid" .ratio) }}
- { name: OTEL_TRACES_SAMPLER_ARG, value: {{ .ratio | toString | quote }} }
{{- end }}
{{- if .headersSecret.name }}
- name: OTEL_EXPORTER_OTLP_HEADERS
  valueFrom: { secretKeyRef: { name: {{ .headersSecret.name | quote }}, key: {{ .headersSecret.key | quote }} } }
{{- end }}
{{- end }}
{{- end }}
{{- end -}}

{{/* Folders, never single files (subPath): a file mounted by itself never changes, and all of these are read again. */}}
{{- define "corral.mounts" -}}
- { name: fleet-key, mountPath: /etc/corral/fleet-key, readOnly: true }
- name: events
  mountPath: /var/lib/corral/events
  {{- if .Values.eventLog.existingClaim }}
  subPathExpr: $(POD_NAME)
  {{- end }}
{{- if ne (include "corral.environmentsFolder" .) "/app/environments" }}
- { name: environments, mountPath: /etc/corral/environments, readOnly: true }
{{- end }}
{{- if .Values.policy }}
- { name: policy, mountPath: /etc/corral/policy, readOnly: true }
{{- end }}
{{- if or .Values.redis.bundled.enabled .Values.redis.existingSecret.name }}
- { name: redis, mountPath: /etc/corral/redis, readOnly: true }
{{- end }}
{{- if .Values.redis.tls.caSecret.name }}
- { name: redis-ca, mountPath: /etc/corral/redis-ca, readOnly: true }
{{- end }}
{{- end -}}

{{- define "corral.volumes" -}}
- name: fleet-key
  secret: { secretName: {{ include "corral.fleetKeySecret" . | quote }} }
- name: events
  {{- if .Values.eventLog.existingClaim }}
  persistentVolumeClaim: { claimName: {{ .Values.eventLog.existingClaim | quote }} }
  {{- else }}
  emptyDir: { {{- with .Values.eventLog.sizeLimit }} sizeLimit: {{ . | quote }} {{- end }} }
  {{- end }}
{{- if .Values.policy }}
- name: policy
  configMap: { name: {{ include "corral.fleet" . }}-policy }
{{- end }}
{{- if .Values.redis.bundled.enabled }}
- name: redis
  secret: { secretName: {{ include "corral.fleet" . }}-redis }
{{- else if .Values.redis.existingSecret.name }}
- name: redis
  secret: { secretName: {{ .Values.redis.existingSecret.name | quote }} }
{{- end }}
{{- if .Values.redis.tls.caSecret.name }}
- name: redis-ca
  secret: { secretName: {{ .Values.redis.tls.caSecret.name | quote }} }
{{- end }}
{{- end -}}

{{/* The files of environments: of a ConfigMap, or copied out of an image. */}}
{{- define "corral.environmentsVolume" -}}
{{- if include "corral.environmentsConfigMap" . }}
- name: environments
  configMap: { name: {{ include "corral.environmentsConfigMap" . | trim | quote }} }
{{- else if .Values.environments.image.repository }}
- name: environments
  emptyDir: {}
{{- end }}
{{- end -}}

{{- define "corral.environmentsCopy" -}}
{{- if .Values.environments.image.repository }}
initContainers:
  - name: environments
    image: {{ include "corral.image" (dict "root" . "image" .Values.environments.image) }}
    imagePullPolicy: {{ .Values.image.pullPolicy }}
    command: [cp, -R, {{ printf "%s/." .Values.environments.image.folder | quote }}, /etc/corral/environments/]
    securityContext:
      {{- include "corral.containerSecurity" . | nindent 6 }}
    volumeMounts:
      - { name: environments, mountPath: /etc/corral/environments }
{{- end }}
{{- end -}}

{{- define "corral.placement" -}}
{{- $own := .own -}}
topologySpreadConstraints:
  {{- if $own.topologySpreadConstraints }}
  {{- toYaml $own.topologySpreadConstraints | nindent 2 }}
  {{- else }}
  {{- range $key := list "kubernetes.io/hostname" "topology.kubernetes.io/zone" }}
  - maxSkew: 1
    topologyKey: {{ $key }}
    # A cluster of one node, or a zone that is full, must not stop a rollout of the fleet itself.
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels:
        {{- include "corral.selector" $ | nindent 8 }}
    # Each version is spread by itself: pods that leave do not count.
    matchLabelKeys: [pod-template-hash]
  {{- end }}
  {{- end }}
{{- with $own.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $own.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $own.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $own.priorityClassName }}
priorityClassName: {{ . | quote }}
{{- end }}
{{- end -}}

{{/*
At its start a process waits for its Redis, however long, and listens only then: the startup probe has an hour. Readiness is
about the process itself: a Service that were emptied because Redis is away would refuse who could have been held.
*/}}
{{- define "corral.probes" -}}
startupProbe:
  httpGet: { path: /healthz, port: {{ . }} }
  periodSeconds: 2
  failureThreshold: 1800
readinessProbe:
  httpGet: { path: /readyz, port: {{ . }} }
  periodSeconds: 2
  failureThreshold: 1
livenessProbe:
  httpGet: { path: /healthz, port: {{ . }} }
  periodSeconds: 10
  failureThreshold: 6
{{- end -}}

{{/* Where gateways store kept rollouts and texts of calls; nothing without a place. */}}
{{- define "corral.trajectoriesEnv" -}}
{{- with .Values.trajectories }}
{{- $place := .place | default (ternary "/var/lib/corral/trajectories" "" (ne .existingClaim "")) }}
{{- if $place }}
- { name: CORRAL_TRAJECTORIES, value: {{ $place | quote }} }
- { name: CORRAL_TRAJECTORY_KEEP_DAYS, value: {{ .keepDays | quote }} }
{{- with .maxBytes }}
- { name: CORRAL_TRAJECTORY_MAX_BYTES, value: {{ int64 . | quote }} }
{{- end }}
{{- with .region }}
- { name: AWS_REGION, value: {{ . | quote }} }
{{- end }}
{{- with .endpoint }}
- { name: AWS_ENDPOINT_URL_S3, value: {{ . | quote }} }
{{- end }}
{{- with .credentialsSecret }}
- name: AWS_ACCESS_KEY_ID
  valueFrom: { secretKeyRef: { name: {{ . | quote }}, key: AWS_ACCESS_KEY_ID } }
- name: AWS_SECRET_ACCESS_KEY
  valueFrom: { secretKeyRef: { name: {{ . | quote }}, key: AWS_SECRET_ACCESS_KEY } }
{{- end }}
{{- end }}
{{- end }}
{{- end -}}
