{{/* Stops with one sentence that says what to set. Values of a wrong type are refused by values.schema.json before. */}}
{{- define "padron.validate" -}}
{{- $values := .Values -}}
{{- if not $values.image.repository -}}
{{- fail "Set image.repository to the repository of the image that you built from deploy/image." -}}
{{- end -}}
{{- if not $values.existingSecret -}}
{{- fail "Set existingSecret to the name of a Secret with DATABASE_URL, WEBHOOK_SECRET_KEYS and AUDIT_HMAC_KEY. The chart makes no Secret." -}}
{{- end -}}
{{- range list "KAFKA_BROKERS" "SCHEMA_REGISTRY_URL" "TEMPORAL_ADDRESS" "ARCHIVE_URL" -}}
{{- if not (index $values.settings .) -}}
{{- fail (printf "Set settings.%s. The README's section \"Settings\" explains it." .) -}}
{{- end -}}
{{- end -}}
{{- include "padron.validate-settings" . -}}
{{- include "padron.validate-clickhouse" . -}}
{{- include "padron.validate-archive" . -}}
{{- if ge (int $values.api.drainSeconds) (int $values.stopDeadlineSeconds) -}}
{{- fail "Set api.drainSeconds to less than stopDeadlineSeconds, or requests in flight are cut when the api stops." -}}
{{- end -}}
{{- $needed := add $values.preStopSeconds $values.stopDeadlineSeconds -}}
{{- range $component := list "api" "consumers" "worker" -}}
{{- $grace := (index $values $component).terminationGracePeriodSeconds -}}
{{- if le (int $grace) (int $needed) -}}
{{- fail (printf "Set %s.terminationGracePeriodSeconds to more than %d, the sum of preStopSeconds and stopDeadlineSeconds. With %d, pods are killed while they stop." $component $needed (int $grace)) -}}
{{- end -}}
{{- end -}}
{{- range $component := list "api" "worker" -}}
{{- with (index $values $component).hpa -}}
{{- if and .enabled (gt (int .minReplicas) (int .maxReplicas)) -}}
{{- fail (printf "Set %s.hpa.maxReplicas to at least %s.hpa.minReplicas." $component $component) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- if and $values.httpRoute.enabled $values.ingress.enabled -}}
{{- fail "Enable httpRoute or ingress, not both: each would serve the same host names." -}}
{{- end -}}
{{- if and $values.httpRoute.enabled (not $values.httpRoute.parentRefs) -}}
{{- fail "Set httpRoute.parentRefs to the gateway that serves the route." -}}
{{- end -}}
{{- range $kind := list "httpRoute" "ingress" -}}
{{- $route := index $values $kind -}}
{{- if and $route.enabled (not $route.hostnames) -}}
{{- fail (printf "Set %s.hostnames to the public host names of the api." $kind) -}}
{{- end -}}
{{- end -}}
{{- if $values.networkPolicy.enabled -}}
{{- range list "apiFrom" "prometheusFrom" -}}
{{- if not (index $values.networkPolicy .) -}}
{{- fail (printf "Set networkPolicy.%s to at least one peer: an empty list would let everybody in." .) -}}
{{- end -}}
{{- end -}}
{{- if and $values.operators.enabled $values.operators.baseUrl (not $values.networkPolicy.operatorsFrom) -}}
{{- fail "Set networkPolicy.operatorsFrom to the proxy before operators.baseUrl, which could not reach the console otherwise." -}}
{{- end -}}
{{- end -}}
{{- range $kind, $file := dict "prometheusRule" "rules.yaml" "dashboards" "dashboards/*.json" -}}
{{- if and (index $values $kind).enabled (not ($.Files.Glob (printf "files/%s" $file))) -}}
{{- fail (printf "Set %s.enabled to false: this copy of the chart lacks files/%s, which come from deploy/observability." $kind $file) -}}
{{- end -}}
{{- end -}}
{{- end }}

{{- define "padron.validate-settings" -}}
{{- $fixed := dict
  "HTTP_HOST" "" "HTTP_PORT" "service.port" "HEALTH_HOST" "" "HEALTH_PORT" "" "WORK_DIR" "api.workDirSizeLimit or worker.workDirSizeLimit"
  "OPERATOR_HTTP_HOST" "operators.enabled" "OPERATOR_HTTP_PORT" "operators.enabled" "OPERATOR_BASE_URL" "operators.baseUrl"
  "STOP_DEADLINE_MS" "stopDeadlineSeconds" "STOP_DRAIN_MS" "api.drainSeconds" "CLICKHOUSE_REPLICAS" "clickhouse.replicas" "CLICKHOUSE_REPLICA" "clickhouse.replicas" -}}
{{- $secret := list "DATABASE_URL" "MIGRATION_DATABASE_URL" "WEBHOOK_SECRET_KEYS" "AUDIT_HMAC_KEY" "KAFKA_SASL_PASSWORD"
  "KAFKA_OAUTH_CLIENT_SECRET" "SCHEMA_REGISTRY_PASSWORD" "SCHEMA_REGISTRY_TOKEN" "TEMPORAL_API_KEY" "CLICKHOUSE_PASSWORD"
  "SMTP_URL" "OIDC_CLIENT_SECRET" "AWS_SECRET_ACCESS_KEY" "AWS_SESSION_TOKEN" "OTEL_EXPORTER_OTLP_HEADERS" -}}
{{- range $place, $settings := dict "settings" .Values.settings "api.settings" .Values.api.settings
  "consumers.settings" .Values.consumers.settings "worker.settings" .Values.worker.settings
  "migrate.settings" .Values.migrate.settings -}}
{{- range $name, $value := $settings -}}
{{- if hasKey $fixed $name -}}
{{- with index $fixed $name -}}
{{- fail (printf "Remove %s from %s and set %s instead." $name $place .) -}}
{{- end -}}
{{- fail (printf "Remove %s from %s: the chart sets it." $name $place) -}}
{{- end -}}
{{- if or (has $name $secret) (regexMatch "://[^/@]*:[^/@]*@" (toString $value)) -}}
{{- fail (printf "Move %s from %s into the Secret that existingSecret names: values are kept readable in the release." $name $place) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end }}

{{- define "padron.validate-clickhouse" -}}
{{- $names := list -}}
{{- range $index, $replica := .Values.clickhouse.replicas -}}
{{- range list "name" "url" -}}
{{- if not (index $replica .) -}}
{{- fail (printf "Set clickhouse.replicas[%d].%s. Each replica needs a name, under which its consumer group remembers what it holds, and a url." $index .) -}}
{{- end -}}
{{- end -}}
{{- if not (regexMatch "^[a-z0-9]([a-z0-9-]{0,18}[a-z0-9])?$" $replica.name) -}}
{{- fail (printf "Set clickhouse.replicas[%d].name to at most 20 lower-case letters, digits and hyphens." $index) -}}
{{- end -}}
{{- if regexMatch "@" $replica.url -}}
{{- fail (printf "Remove the password from clickhouse.replicas[%d].url and put CLICKHOUSE_USERNAME and CLICKHOUSE_PASSWORD into the Secret that existingSecret names." $index) -}}
{{- end -}}
{{- if has $replica.name $names -}}
{{- fail (printf "Give clickhouse.replicas[%d] another name than %s, which another replica has." $index $replica.name) -}}
{{- end -}}
{{- $names = append $names $replica.name -}}
{{- end -}}
{{- if and (not $names) (not .Values.settings.CLICKHOUSE_URL) -}}
{{- fail "Set settings.CLICKHOUSE_URL for one ClickHouse server, or clickhouse.replicas for several." -}}
{{- end -}}
{{- if and $names .Values.settings.CLICKHOUSE_URL -}}
{{- fail "Remove settings.CLICKHOUSE_URL or clickhouse.replicas: the replicas take the place of the one server." -}}
{{- end -}}
{{- end }}

{{- define "padron.validate-archive" -}}
{{- $url := .Values.settings.ARCHIVE_URL -}}
{{- $folder := "file:///var/lib/padron/archive" -}}
{{- if hasPrefix "file:" $url -}}
{{- if not .Values.archive.existingClaim -}}
{{- fail "Set archive.existingClaim to a ReadWriteMany claim, or settings.ARCHIVE_URL to an S3 bucket: a folder inside a pod is lost with the pod." -}}
{{- end -}}
{{- if not (or (eq $url $folder) (hasPrefix (printf "%s/" $folder) $url)) -}}
{{- fail (printf "Set settings.ARCHIVE_URL to %s, where the claim of archive.existingClaim is." $folder) -}}
{{- end -}}
{{- else if .Values.archive.existingClaim -}}
{{- fail (printf "Set settings.ARCHIVE_URL to %s, or remove archive.existingClaim." $folder) -}}
{{- end -}}
{{- end }}
