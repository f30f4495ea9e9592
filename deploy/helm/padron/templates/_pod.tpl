{{/*
The settings of a process as `env`. They stand in the pods and in no ConfigMap, so that a changed one rolls the pods and
the Job before an install needs nothing of the release.
Takes `root`, `component`, `own` (the component's values) and, in consumers, `replica`.
*/}}
{{- define "padron.env" -}}
{{- $fixed := dict -}}
{{- if eq .component "api" -}}
{{- $fixed = merge $fixed (dict "HTTP_HOST" "0.0.0.0" "HTTP_PORT" "8080") -}}
{{- $fixed = merge $fixed (dict "STOP_DRAIN_MS" (mul (int .own.drainSeconds) 1000)) -}}
{{- if .root.Values.operators.enabled -}}
{{- $fixed = merge $fixed (dict "OPERATOR_HTTP_HOST" "0.0.0.0" "OPERATOR_HTTP_PORT" "8082") -}}
{{- with .root.Values.operators.baseUrl -}}{{- $fixed = merge $fixed (dict "OPERATOR_BASE_URL" .) -}}{{- end -}}
{{- end -}}
{{- end -}}
{{- if ne .component "migrate" -}}
{{- $fixed = merge $fixed (dict "HEALTH_HOST" "0.0.0.0" "HEALTH_PORT" "9090") -}}
{{- $fixed = merge $fixed (dict "STOP_DEADLINE_MS" (mul (int .root.Values.stopDeadlineSeconds) 1000)) -}}
{{- end -}}
{{- if has .component (list "api" "worker") -}}
{{- $fixed = merge $fixed (dict "WORK_DIR" "/var/lib/padron/work") -}}
{{- end -}}
{{- with .root.Values.clickhouse.replicas -}}
{{- $pairs := list -}}
{{- range . -}}{{- $pairs = append $pairs (printf "%s=%s" .name .url) -}}{{- end -}}
{{- $fixed = merge $fixed (dict "CLICKHOUSE_REPLICAS" (join "," $pairs)) -}}
{{- end -}}
{{- with .replica -}}
{{- $fixed = merge $fixed (dict "CLICKHOUSE_REPLICA" .) -}}
{{- end -}}
{{- range $name, $value := merge $fixed .own.settings .root.Values.settings }}
- name: {{ $name }}
  value: {{ $value | toString | quote }}
{{- end }}
{{- end }}

{{- define "padron.container-security" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end }}

{{- define "padron.pod-security" -}}
runAsNonRoot: true
runAsUser: 10001
runAsGroup: 10001
fsGroup: 10001
fsGroupChangePolicy: OnRootMismatch
seccompProfile:
  type: RuntimeDefault
{{- end }}

{{/* What every container gets: its image, rights, settings and folders. Takes the same as `padron.env`. */}}
{{- define "padron.container" -}}
image: {{ include "padron.image" .root }}
imagePullPolicy: {{ .root.Values.image.pullPolicy }}
securityContext:
  {{- include "padron.container-security" . | nindent 2 }}
envFrom:
  - secretRef:
      name: {{ .root.Values.existingSecret }}
{{- if and (eq .component "migrate") .own.existingSecret }}
  - secretRef:
      name: {{ .own.existingSecret }}
{{- end }}
env:
  {{- include "padron.env" . | trim | nindent 2 }}
resources:
  {{- toYaml .own.resources | nindent 2 }}
volumeMounts:
  - name: tmp
    mountPath: /tmp
{{- if has .component (list "api" "worker") }}
  - name: work
    mountPath: /var/lib/padron/work
{{- end }}
{{- if .root.Values.archive.existingClaim }}
  - name: archive
    mountPath: /var/lib/padron/archive
{{- end }}
{{- if .root.Values.certificates.existingSecret }}
  - name: certificates
    mountPath: /etc/padron/certificates
    readOnly: true
{{- end }}
{{- end }}

{{- define "padron.volumes" -}}
- name: tmp
  emptyDir:
    sizeLimit: 128Mi
{{- if has .component (list "api" "worker") }}
- name: work
  emptyDir:
    sizeLimit: {{ .own.workDirSizeLimit }}
{{- end }}
{{- with .root.Values.archive.existingClaim }}
- name: archive
  persistentVolumeClaim:
    claimName: {{ . }}
{{- end }}
{{- with .root.Values.certificates.existingSecret }}
- name: certificates
  secret:
    secretName: {{ . }}
    defaultMode: 0440
{{- end }}
{{- end }}
