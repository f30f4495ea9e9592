{{- define "padron.fullname" -}}
{{- if contains "padron" .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-padron" (.Release.Name | trunc 33 | trimSuffix "-") -}}
{{- end -}}
{{- end }}

{{- define "padron.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end }}

{{/* Takes `root` and `component`: api, consumers, worker or migrate. */}}
{{- define "padron.selector" -}}
app.kubernetes.io/name: padron
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- with .replica }}
padron/clickhouse-replica: {{ . }}
{{- end }}
{{- end }}

{{- define "padron.labels" -}}
{{ include "padron.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ .root.Chart.Name }}-{{ .root.Chart.Version }}
{{- end }}

{{/* One entry for each ClickHouse replica, or a single one without a name. `suffix` ends the Deployment's name. */}}
{{- define "padron.feeds" -}}
{{- $feeds := list -}}
{{- range .Values.clickhouse.replicas -}}
{{- $feeds = append $feeds (dict "replica" .name "url" .url "suffix" (printf "-%s" .name)) -}}
{{- end -}}
{{- if not $feeds -}}
{{- $feeds = append $feeds (dict "replica" "" "url" "" "suffix" "") -}}
{{- end -}}
{{- toJson $feeds -}}
{{- end }}
