{{/* What the schema cannot say. Included once, by the cluster file, without which nothing is rendered. */}}
{{- define "corral.validate" -}}
{{- $fleet := include "corral.fleet" . -}}
{{- if not (regexMatch "^[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?$" $fleet) -}}
{{- fail (printf "the fleet's name %q stands in names of objects: give at most 40 lower-case letters, digits and dashes, as release name or as `fleet`" $fleet) -}}
{{- end -}}
{{- if eq (include "corral.sandboxes" .) .Release.Namespace -}}
{{- fail (printf "the fleet's own pods and its sandboxes cannot share the namespace %s, which is closed to all but sandboxes: name another with `sandboxes.namespace.name`" .Release.Namespace) -}}
{{- end -}}
{{- if eq .Release.Namespace "default" -}}
{{- fail "the namespace `default` is no place for a fleet: it has a role there for events of nodes only; add `--namespace NAME --create-namespace`" -}}
{{- end -}}
{{- range $what, $image := dict "image" .Values.image "sandboxd.image" .Values.sandboxd.image -}}
{{- if not (or (and (eq $what "sandboxd.image") (eq $.Values.sandboxd.delivery "baked")) $image.registry $.Values.global.imageRegistry (include "corral.published" $) (contains "/" $image.repository)) -}}
{{- fail (printf "%s has no registry: build the images (docs/releases.md), push them to your registry, and name it with `global.imageRegistry` or `%s.registry`" $what $what) -}}
{{- end -}}
{{- end -}}
{{- with .Values.environments -}}
{{- $sources := compact (list (ternary "inline" "" (not (empty .inline))) (ternary "existingConfigMap" "" (not (empty .existingConfigMap))) (ternary "image" "" (not (empty .image.repository)))) -}}
{{- if gt (len $sources) 1 -}}
{{- fail (printf "environments come from one place, not from %s: keep one of `environments.inline`, `.existingConfigMap` and `.image`" (join " and " $sources)) -}}
{{- end -}}
{{- end -}}
{{- with .Values.redis -}}
{{- $own := or .url .existingSecret.urlKey -}}
{{- if and .bundled.enabled (or $own .existingSecret.name) -}}
{{- fail "two Redis are named, and fleet state is in one: set `redis.bundled.enabled: false`, or leave `redis.url` and `redis.existingSecret` out" -}}
{{- end -}}
{{- if not (or .bundled.enabled $own) -}}
{{- fail "no Redis is named: set `redis.url` or `redis.existingSecret.urlKey`, or `redis.bundled.enabled: true`" -}}
{{- end -}}
{{- if and .tls.caSecret.name (or .bundled.enabled (hasPrefix "redis:" .url) (hasPrefix "redis-sentinel:" .url)) -}}
{{- fail "`redis.tls.caSecret` is for a Redis over TLS: write `rediss://…` in `redis.url`" -}}
{{- end -}}
{{- if and .url .existingSecret.urlKey -}}
{{- fail "`redis.url` and `redis.existingSecret.urlKey` both name a Redis: keep one" -}}
{{- end -}}
{{- if and (not .existingSecret.name) (or .existingSecret.urlKey .existingSecret.usernameKey .existingSecret.passwordKey .existingSecret.sentinelPasswordKey) -}}
{{- fail "`redis.existingSecret` has keys, but no `name`" -}}
{{- end -}}
{{- end -}}
{{- range $what, $of := dict "fleetKey.existingSecret" (list .Values.fleetKey.existingSecret "fleet.key") "keys.existingSecret" (list .Values.keys.existingSecret "keys.json") -}}
{{- if and (not (index $of 0).name) (ne (index $of 0).key (index $of 1)) -}}
{{- fail (printf "`%s` has a key, but no `name`; in the chart's own Secret it is %s" $what (index $of 1)) -}}
{{- end -}}
{{- end -}}
{{- with .Values.tracing -}}
{{- if and (not .endpoint) (or .headersSecret.name (not (kindIs "invalid" .ratio))) -}}
{{- fail "`tracing` has headers or a ratio, but no `endpoint`: name the collector, or leave them out" -}}
{{- end -}}
{{- end -}}
{{- with .Values.console -}}
{{- if and .enabled .ingress.enabled (not .ingress.host) -}}{{- fail "`console.ingress.host` is missing" -}}{{- end -}}
{{- if and .enabled (not (or .ingress.enabled .origins)) -}}
{{- fail "`console.origins` is missing: name the address that browsers use, such as https://console.example.org, or enable `console.ingress`" -}}
{{- end -}}
{{- end -}}
{{- with .Values.gateway -}}
{{- if and .ingress.enabled (not .ingress.host) -}}{{- fail "`gateway.ingress.host` is missing" -}}{{- end -}}
{{- if and .httpRoute.enabled (not .httpRoute.parentRefs) -}}{{- fail "`gateway.httpRoute.parentRefs` is missing: name the Gateway that the route belongs to" -}}{{- end -}}
{{- if gt (int .autoscaling.min) (int .autoscaling.max) -}}{{- fail "`gateway.autoscaling.min` is above `max`" -}}{{- end -}}
{{- if and (eq .autoscaling.kind "keda") (not .autoscaling.prometheusAddress) -}}{{- fail "`gateway.autoscaling.prometheusAddress` is missing: KEDA asks there how many requests are held" -}}{{- end -}}
{{- end -}}
{{- end -}}
