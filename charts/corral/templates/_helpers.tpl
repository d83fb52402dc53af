{{/* Every object is named after the fleet: so are those of `corral cluster manifests`. */}}
{{- define "corral.fleet" -}}
{{- .Values.fleet | default .Release.Name -}}
{{- end -}}

{{- define "corral.sandboxes" -}}
{{- .Values.sandboxes.namespace.name | default (printf "%s-sandboxes" (include "corral.fleet" .)) -}}
{{- end -}}

{{- define "corral.name" -}}
{{- .Values.nameOverride | default "corral" -}}
{{- end -}}

{{/* By `corral.dev/fleet` everything of a fleet is found again, and removed. */}}
{{- define "corral.labels" -}}
app.kubernetes.io/name: {{ include "corral.name" . | quote }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name (.Chart.Version | replace "+" "_") }}
corral.dev/fleet: {{ include "corral.fleet" . | quote }}
{{- end -}}

{{/* The sandboxes' network policy admits pods by part-of and component. No other labels, because a selector can never change. */}}
{{- define "corral.selector" -}}
app.kubernetes.io/part-of: corral
app.kubernetes.io/component: {{ .component }}
corral.dev/fleet: {{ include "corral.fleet" .root | quote }}
{{- end -}}

{{- define "corral.podLabels" -}}
{{ include "corral.selector" . }}
app.kubernetes.io/name: {{ include "corral.name" .root | quote }}
app.kubernetes.io/instance: {{ .root.Release.Name | quote }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
{{- with .root.Values.podLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* `dict "root" . "image" .Values.image`: registry, repository and digest, else tag, else the chart's version. */}}
{{- define "corral.image" -}}
{{- $registry := .image.registry | default .root.Values.global.imageRegistry | default .published -}}
{{- if $registry }}{{ $registry }}/{{ end }}{{ .image.repository -}}
{{- if .image.digest }}@{{ .image.digest }}{{ else }}:{{ .image.tag | default .root.Chart.AppVersion }}{{ end -}}
{{- end -}}

{{/* The same for an image of a release. If no value names its registry, it is in the registry that the chart was published to. */}}
{{- define "corral.releasedImage" -}}
{{- include "corral.image" (merge (dict "published" (include "corral.published" .root)) .) -}}
{{- end -}}

{{/* The registry that this chart was published to; empty: this is a checkout. `npm run release` sets it. */}}
{{- define "corral.published" -}}
{{- index .Chart.Annotations "corral.dev/registry" -}}
{{- end -}}

{{- define "corral.pullSecrets" -}}
{{- with .Values.image.pullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . | quote }}
  {{- end }}
{{- end }}
{{- end -}}

{{/* What Pod Security `restricted` asks for, and 65532 is the images' own user. */}}
{{- define "corral.podSecurity" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
fsGroup: 65532
fsGroupChangePolicy: OnRootMismatch
seccompProfile: { type: RuntimeDefault }
{{- end -}}

{{- define "corral.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: { drop: [ALL] }
{{- end -}}

{{- define "corral.fleetKeySecret" -}}
{{- .Values.fleetKey.existingSecret.name | default (printf "%s-fleet-key" (include "corral.fleet" .)) -}}
{{- end -}}

{{- define "corral.keysSecret" -}}
{{- .Values.keys.existingSecret.name | default (printf "%s-keys" (include "corral.fleet" .)) -}}
{{- end -}}

{{/* Kinds of the Secrets that a job makes (`corral cluster secrets --kind`), as a JSON list. */}}
{{- define "corral.ownSecrets" -}}
{{- $own := list -}}
{{- if not .Values.fleetKey.existingSecret.name }}{{ $own = append $own "fleet-key" }}{{ end -}}
{{- if not .Values.keys.existingSecret.name }}{{ $own = append $own "keys" }}{{ end -}}
{{- if .Values.redis.bundled.enabled }}{{ $own = append $own "redis" }}{{ end -}}
{{- toJson $own -}}
{{- end -}}

{{/* A hook's objects are no part of the release: they go by themselves, and what a failed one said is printed before. */}}
{{- define "corral.hook" -}}
helm.sh/hook: {{ .hook }}
helm.sh/hook-weight: {{ .weight | quote }}
helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded,hook-failed
helm.sh/hook-output-log-policy: hook-failed
{{- end -}}

{{/* cluster.yaml, from the values that Helm must know and those it only hands on. */}}
{{- define "corral.clusterFile" -}}
{{- $image := include "corral.releasedImage" (dict "root" . "image" .Values.sandboxd.image) -}}
{{- $ways := dict "initContainer" (dict "init_container" $image) "imageVolume" (dict "image_volume" $image) "baked" (.Values.sandboxd.folder | empty | ternary "baked" (dict "baked" .Values.sandboxd.folder)) -}}
{{- $file := merge (dict "namespace" (include "corral.sandboxes" .) "sandboxd" (get $ways .Values.sandboxd.delivery)) (deepCopy .Values.clusterConfig) -}}
{{- if and .Values.sandboxes.priorityClass.create (not (dig "placement" "priority_class" "" .Values.clusterConfig)) -}}
{{- $_ := set $file "placement" (merge (dict "priority_class" (include "corral.priorityClass" .)) (deepCopy (.Values.clusterConfig.placement | default dict))) -}}
{{- end -}}
{{- toYaml $file -}}
{{- end -}}

{{- define "corral.priorityClass" -}}
corral-{{ include "corral.fleet" . }}-sandboxes
{{- end -}}

{{/* Where files of environments come from; empty: they are in the image. */}}
{{- define "corral.environmentsConfigMap" -}}
{{- if .Values.environments.inline -}}
{{ include "corral.fleet" . }}-environments
{{- else -}}
{{ .Values.environments.existingConfigMap }}
{{- end -}}
{{- end -}}

{{- define "corral.environmentsFolder" -}}
{{- if or (include "corral.environmentsConfigMap" .) .Values.environments.image.repository -}}
/etc/corral/environments
{{- else -}}
/app/environments
{{- end -}}
{{- end -}}

{{/* Where every common distribution has its name servers. */}}
{{- define "corral.nameServers" -}}
to:
  - namespaceSelector:
      matchLabels: { kubernetes.io/metadata.name: kube-system }
    podSelector:
      matchLabels: { k8s-app: kube-dns }
ports:
  - { protocol: UDP, port: 53 }
  - { protocol: TCP, port: 53 }
{{- end -}}

{{/* What gateways and controllers both need: name servers, sandboxes, and their Redis. */}}
{{- define "corral.fleetEgress" -}}
- {{- include "corral.nameServers" . | nindent 2 }}
- to:
    - namespaceSelector:
        matchLabels: { kubernetes.io/metadata.name: {{ include "corral.sandboxes" . | quote }} }
  ports: [{ protocol: TCP, port: {{ .Values.clusterConfig.port | default 8911 | int }} }]
{{- if .Values.redis.bundled.enabled }}
- to:
    - podSelector:
        matchLabels:
          {{- include "corral.selector" (dict "root" . "component" "redis") | nindent 10 }}
  ports: [{ protocol: TCP, port: 6379 }]
{{- else }}
- ports:
    {{- range .Values.networkPolicy.redisPorts }}
    - { protocol: TCP, port: {{ int . }} }
    {{- end }}
{{- end }}
{{- with .Values.tracing.endpoint }}
{{- $of := urlParse . }}
# The collector, wherever it is.
- ports: [{ protocol: TCP, port: {{ regexFind "[0-9]+$" (regexFind ":[0-9]+$" $of.host) | default (ternary "443" "80" (eq $of.scheme "https")) | int }} }]
{{- end }}
{{- end -}}

{{/* The pod of a job that runs one command of `corral`, under an account of its own: `dict "root" . "component" "setup" "args" (list …)`. */}}
{{- define "corral.jobSpec" -}}
backoffLimit: 3
# A Job that cannot be scheduled, or whose image is not there, must not hold an installation for ever.
activeDeadlineSeconds: 600
template:
  metadata:
    labels:
      {{- include "corral.podLabels" . | nindent 6 }}
  spec:
    restartPolicy: Never
    serviceAccountName: {{ include "corral.fleet" .root }}-{{ .component }}
    {{- include "corral.pullSecrets" .root | nindent 4 }}
    securityContext:
      {{- include "corral.podSecurity" .root | nindent 6 }}
    {{- with .root.Values.controller.nodeSelector }}
    nodeSelector:
      {{- toYaml . | nindent 6 }}
    {{- end }}
    {{- with .root.Values.controller.tolerations }}
    tolerations:
      {{- toYaml . | nindent 6 }}
    {{- end }}
    containers:
      - name: {{ .component | quote }}
        image: {{ include "corral.releasedImage" (dict "root" .root "image" .root.Values.image) }}
        imagePullPolicy: {{ .root.Values.image.pullPolicy }}
        args: {{ toJson .args }}
        resources: { requests: { cpu: 50m, memory: 128Mi }, limits: { memory: 512Mi } }
        securityContext:
          {{- include "corral.containerSecurity" .root | nindent 10 }}
{{- end -}}

{{/* Addresses by which browsers reach the console. */}}
{{- define "corral.consoleOrigins" -}}
{{- $own := .Values.console -}}
{{- $hosts := ternary (list (printf "https://%s" $own.ingress.host)) list $own.ingress.enabled -}}
{{- join "," ($own.origins | default $hosts) -}}
{{- end -}}

{{/* Where the pages of docs are. A release whose values were reused from an older chart has none. */}}
{{- define "corral.docs" -}}
{{- trimSuffix "/" (.Values.docs | default "docs") -}}
{{- end }}
